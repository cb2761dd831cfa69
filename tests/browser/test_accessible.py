"""The whole page, pytest-html's part included, by the rules of WCAG 2.2 AA: wide and narrow, light and dark."""

from __future__ import annotations

from itertools import pairwise

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.conftest import Look, Report

RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


# Colours go by the theme and the layout by the width: two of the four see each of them once.
@pytest.mark.parametrize(
    ("width", "dark"),
    [
        pytest.param(1280, False, id="1280-light"),
        pytest.param(400, True, id="400-dark"),
        pytest.param(1280, True, id="1280-dark", marks=pytest.mark.slow),
        pytest.param(400, False, id="400-light", marks=pytest.mark.slow),
    ],
)
def test_axe_finds_nothing(look: Look, report: Report, width: int, dark: bool) -> None:
    seen = look(report("regressed"), width=width, dark=dark)
    # What is folded is read as well.
    seen.page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    seen.page.click("#show_all_details")
    found = (
        Axe().run(seen.page, options={"runOnly": RULES, "resultTypes": ["violations"]}).response["violations"]
    )
    assert [
        (v["id"], [n["target"] for n in v["nodes"]][:4], v["nodes"][0]["failureSummary"]) for v in found
    ] == []


def test_headings_are_in_order_and_landmarks_have_names(look: Look, report: Report) -> None:
    seen = look(report("regressed"))
    levels = seen.page.evaluate(
        "[...document.querySelectorAll('h1,h2,h3,h4')].map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    unnamed = "main section:not([aria-labelledby]), nav:not([aria-label]), #tests:not([aria-labelledby])"
    assert seen.page.locator(unnamed).count() == 0
    assert seen.page.locator("table:not(:has(caption)):not(#environment):not(#results-table)").count() == 0


def test_every_entry_of_the_contents_leads_somewhere_and_what_it_leads_to_is_not_covered(
    look: Look, report: Report
) -> None:
    seen = look(report("regressed"))
    links = seen.page.locator("nav a")
    assert links.count() >= 10
    for number in range(links.count()):
        links.nth(number).click()
        assert seen.box(links.nth(number).get_attribute("href") or "")[0] >= seen.box("header.bar")[1] - 2
