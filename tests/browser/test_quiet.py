"""A report is one file that asks for nothing: no script of a foreign string runs, no address is fetched, no dialog opens."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import Look, Report


@pytest.mark.parametrize("story", ["green", "hostile"])
def test_whatever_is_told_in_it_a_report_does_nothing_but_stand_there(
    look: Look, report: Report, story: str
) -> None:
    seen = look(report(story))
    assert seen.page.title() != "owned"
    assert seen.page.evaluate("document.querySelectorAll('#tokgate img, #tokgate script[src]').length") == 0
    assert seen.noise() == []


def test_markup_that_slipped_through_would_run_nothing_and_fetch_nothing(
    chromium: Browser, report: Report, tmp_path: Path
) -> None:
    """The page's own policy is a second wall: what is planted here no foreign string ever gets to."""
    text = report("regressed").read_text("utf-8")
    planted = "<script>document.title = 'owned'</script><img src='http://127.0.0.1:9/x' onerror=\"document.title='owned'\">"
    path = tmp_path / "report.html"
    path.write_text(text.replace("<main", f"{planted}<main", 1), encoding="utf-8")
    page = chromium.new_page()
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(path.as_uri())
    assert page.title().startswith("SIMULATED REGRESSED")
    told = " ".join(refused)
    assert "script-src" in told
    assert "img-src" in told
    assert page.locator(".tally").inner_text()  # our own script ran all the same
    page.close()
