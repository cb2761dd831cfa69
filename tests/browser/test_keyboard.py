"""Everything that a mouse can do with the page, a keyboard can: skip, unfold, choose, sort, copy."""

from __future__ import annotations

from tests.browser.conftest import Look, Report


def test_the_first_key_reaches_a_link_that_skips_to_the_answer(look: Look, ours: Report) -> None:
    seen = look(ours("regressed"))
    seen.page.keyboard.press("Tab")
    assert seen.active()["text"] == "Skip to the answer"
    assert seen.in_view("a.skip")
    seen.page.keyboard.press("Enter")
    assert seen.active()["id"] == "tokgate"


def test_what_has_the_keyboard_is_marked_and_not_under_the_bar(look: Look, report: Report) -> None:
    seen = look(report("regressed"))
    bar = seen.box("header.bar")[1]
    for _ in range(40):
        seen.page.keyboard.press("Tab")
        outline, top, inside = seen.page.evaluate(
            "(() => { const e = document.activeElement; return [getComputedStyle(e).outlineStyle, "
            "e.getBoundingClientRect().bottom, Boolean(e.closest('header.bar, .skip'))]; })()"
        )
        assert outline != "none"
        assert inside or top > bar


def test_enter_unfolds_a_verdict_and_folds_it_again(look: Look, ours: Report) -> None:
    seen = look(ours("regressed"))
    seen.page.locator("#verdicts .detail summary").first.focus()
    details = seen.page.locator("#verdicts .detail details").first
    seen.page.keyboard.press("Enter")
    assert details.evaluate("e => e.open")
    seen.page.keyboard.press("Enter")
    assert not details.evaluate("e => e.open")


def test_a_tests_output_is_unfolded_by_key_and_the_keyboard_stays_there(look: Look, report: Report) -> None:
    seen = look(report("regressed"))
    button = seen.page.locator("#tests button.log-toggle").first
    button.focus()
    before = seen.active()["text"]
    assert button.get_attribute("aria-expanded") == "false"
    seen.page.keyboard.press("Enter")
    assert seen.active()["text"] == before
    assert button.get_attribute("aria-expanded") == "true"
    assert seen.page.locator("#tests .log").first.is_visible()


def test_pytest_htmls_table_is_sorted_by_key(look: Look, report: Report) -> None:
    seen = look(report("regressed"))
    seen.page.locator("#tests th button", has_text="Verdict").focus()
    seen.page.keyboard.press("Enter")
    assert seen.active()["text"] == "Verdict"
    head = seen.page.locator("#tests th", has_text="Verdict")
    assert head.get_attribute("aria-sort") in ("ascending", "descending")
    words = seen.page.locator("#tests .col-verdict").all_inner_texts()
    assert words in (sorted(words), sorted(words, reverse=True))


def test_a_line_is_copied_without_permission_for_the_clipboard(look: Look, ours: Report) -> None:
    seen = look(ours("regressed"))
    # A page that was opened from a file may have no clipboard at all.
    seen.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    seen.page.locator("button.copy").first.focus()
    seen.page.keyboard.press("Enter")
    seen.page.locator("#said", has_text="copied").wait_for(state="attached")
    seen.page.evaluate(
        "(() => { const t = document.createElement('textarea'); t.id = 'sink'; document.body.append(t); t.focus(); })()"
    )
    seen.page.keyboard.press("Control+V")
    assert (
        seen.page.locator("#sink").input_value() == seen.page.locator("#next ~ .paste pre").first.inner_text()
    )
