"""Without scrolling: may this merge, if not why, on what evidence, and what to do next."""

from __future__ import annotations

import pytest

from tests.browser.conftest import Look, Report

# All that has to be in sight: the answer, the outcome, the headline, why, and what is next.
PARTS = ("header.bar nav", "h1", ".chip", ".headline", "#why", "#next", ".answer .do")


@pytest.mark.parametrize(
    ("story", "answer", "outcome"),
    [
        ("regressed", "No: it is worse than allowed, and that is established.", "regressed"),
        ("green", "Yes: every promise was kept, and something has become better.", "improved"),
        (
            "invalid",
            "Cannot tell: the bench is at fault, not the code: nothing was shown of the change.",
            "invalid",
        ),
        ("inconclusive", "Cannot tell: this run could not see enough.", "inconclusive"),
    ],
)
def test_the_answer_why_and_what_is_next_are_in_sight(
    look: Look, ours: Report, story: str, answer: str, outcome: str
) -> None:
    seen = look(ours(story))
    assert seen.page.locator("h1").inner_text() == answer
    assert seen.page.locator(".chip .word").text_content() == outcome
    assert seen.page.title().replace("SIMULATED ", "").startswith(f"{outcome.upper()}: ")
    assert [part for part in PARTS if not seen.in_view(part)] == []


@pytest.mark.parametrize("story", ["regressed", "green"])
def test_in_a_narrow_window_they_are_on_the_first_two_screens(look: Look, ours: Report, story: str) -> None:
    seen = look(ours(story), width=400)
    assert [part for part in PARTS[1:4] if not seen.in_view(part)] == []
    assert [part for part in PARTS[4:] if not seen.in_view(part, screens=2)] == []


def test_the_commands_to_run_next_are_in_sight_and_whole(look: Look, ours: Report) -> None:
    report = ours("regressed")
    seen = look(report)
    log = report.parent / "launches/02-eagle3-2step/server.log"
    lines = seen.page.locator("#next ~ .paste pre").all_inner_texts()
    assert lines == ["pytest perf_tests -m eagle3 --rig kimi-8gpu", f"grep 'Decode batch' {log}"]
    assert seen.in_view("#next ~ .paste pre")


def test_a_simulated_machine_is_said_while_scrolled_and_on_paper(look: Look, report: Report) -> None:
    seen = look(report("regressed"))
    seen.page.evaluate("window.scrollTo(0, document.body.scrollHeight)")
    banner = seen.page.locator(".banner strong")
    assert 0 <= seen.box(".banner strong")[0] < 40
    seen.page.emulate_media(media="print")
    assert banner.is_visible()
    assert banner.evaluate("e => getComputedStyle(e).position") == "fixed"  # so it is printed on every sheet


def test_on_paper_the_answer_is_unfolded_and_nothing_is_there_to_click(look: Look, ours: Report) -> None:
    seen = look(ours("regressed"))
    assert not seen.page.locator(".answer details ul").last.is_visible()
    seen.page.emulate_media(media="print")
    assert seen.page.locator(".answer details ul").last.is_visible()
    assert seen.page.locator("nav, .copy, select").evaluate_all("all => all.every(e => !e.checkVisibility())")


def test_without_scripts_the_page_says_the_same(look: Look, ours: Report) -> None:
    seen = look(ours("regressed"), scripts=False)
    assert [part for part in PARTS if not seen.in_view(part)] == []
    assert seen.page.locator("button.copy:visible").count() == 0
