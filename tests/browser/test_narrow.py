"""Nobody has to scroll sideways, at 400 pixels and at 320: what is wider than that is scrolled in its own frame."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Look, Report


@pytest.mark.parametrize("story", ["regressed", "hostile"])
def test_the_page_is_no_wider_than_its_window(look: Look, report: Report, story: str) -> None:
    seen = look(report(story), width=400)
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    seen.page.click("#show_all_details")
    assert seen.overflow() == 0
    seen.page.set_viewport_size({"width": 320, "height": 640})
    assert seen.overflow() == 0


def test_how_a_cause_was_isolated_is_told_in_several_lines(look: Look, ours: Report) -> None:
    seen = look(ours("regressed"), width=320)
    words = "isolated by pairs of starts with the probe on and off, in one server run"
    assert seen.page.locator(".strength").count()
    seen.page.evaluate(
        "words => document.querySelectorAll('.strength').forEach(s => { s.textContent = words })", words
    )
    assert seen.overflow() == 0
