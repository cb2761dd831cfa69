"""A hundred and fifty verdicts: worst first, chosen without a script, sorted with one, what was kept folded."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.browser.conftest import Look, Report


def rows(page: Page) -> int:
    count: int = page.locator("#verdicts tbody.v").evaluate_all(
        "all => all.filter(e => e.checkVisibility()).length"
    )
    return count


def choose(page: Page, what: str, word: str) -> None:
    chooser = page.locator("#verdicts label", has_text=what).locator("select")
    value = chooser.locator("option", has_text=word).first.get_attribute("value")
    chooser.select_option(value=value)


def test_what_was_kept_is_folded_below_what_was_lost(look: Look, ours: Report) -> None:
    seen = look(ours("large"))
    assert rows(seen.page) == 75
    assert set(seen.page.locator("#verdicts > table .word").all_inner_texts()) == {"REGRESSED"}
    folded = seen.page.locator("#verdicts details.group > summary").all_inner_texts()
    assert folded == ["pass time_to_first_token 75 of 75 · up to -14.8 % (ttft_ms, single)"]


def test_rows_are_chosen_without_a_script(look: Look, ours: Report) -> None:
    seen = look(ours("large"), scripts=False)
    choose(seen.page, "workload", "conc4")
    assert rows(seen.page) == 25  # of 150 every third, and of those every other is kept and folded
    choose(seen.page, "arm", "eagle3-2step")
    of_the_arm = seen.page.locator("#verdicts > table tbody.v:visible").all_inner_texts()
    assert 0 < len(of_the_arm) < 25
    assert all("eagle3-2step" in text and "conc4" in text for text in of_the_arm)
    choose(seen.page, "outcome", "pass")
    assert rows(seen.page) == 0
    seen.page.locator("details.group > summary").click()
    assert 0 < rows(seen.page) < 25


def test_a_choice_is_counted_and_told_and_opens_what_it_leaves(look: Look, ours: Report) -> None:
    seen = look(ours("large"))
    choose(seen.page, "outcome", "pass")
    assert rows(seen.page) == 75
    assert seen.page.locator(".tally").inner_text() == "75 of 150"
    assert seen.page.locator("#said").text_content() == "75 of 150 verdicts shown"


def test_a_head_sorts_up_then_down_then_worst_first_again(look: Look, ours: Report) -> None:
    seen = look(ours("large"))
    cells = seen.page.locator("#verdicts > table tbody.v tr:first-child td:nth-child(4)")
    given = cells.all_inner_texts()
    head = seen.page.locator("#verdicts > table thead th", has_text="value")
    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    up = [float(text.split()[0]) for text in cells.all_inner_texts()]
    assert up == sorted(up)
    head.locator("button").click()
    assert [float(text.split()[0]) for text in cells.all_inner_texts()] == up[::-1]
    head.locator("button").click()
    assert cells.all_inner_texts() == given
    assert head.get_attribute("aria-sort") is None


def test_heads_stay_in_sight_below_the_bar(look: Look, ours: Report) -> None:
    seen = look(ours("large"))
    seen.page.evaluate("window.scrollTo(0, document.querySelector('#verdicts > table').offsetTop + 2000)")
    assert abs(seen.box("#verdicts > table thead th")[0] - seen.box("header.bar")[1]) < 2
