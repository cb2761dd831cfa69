from __future__ import annotations

from pathlib import Path

import pytest

from tests.report import examples
from tests.report.hostile import MARKUP
from tests.verdicts.evidence import EAGLE3, controls, eagle3, make_launch, make_rig, make_run, series
from tests.verdicts.phase_evidence import NO_PROBE, carrying, phase, table, untold
from tests.verdicts.test_launch_phases import timer, whole
from tokgate.records import LaunchEvidence
from tokgate.records.phases import Phase
from tokgate.report.arithmetic import Arithmetic, arithmetic_rows
from tokgate.report.arithmetic_cells import COLUMNS, NO_ROOM, cells, draft_name, sentence
from tokgate.report.figures import NONE
from tokgate.report.html_section import page
from tokgate.report.summary_md import render
from tokgate.report.verdict_json import build
from tokgate.stats.crossover import Level

# The incident's numbers: 1.855 tokens a cycle of 30.9 ms, against a plain token of 22.4 ms.
CYCLE = 255 / 59.8 / 138 * 1e3


def rows(*launches: LaunchEvidence) -> tuple[Arithmetic, ...]:
    return arithmetic_rows(make_rig(), make_run(*launches))


def only(*launches: LaunchEvidence) -> Arithmetic:
    (row,) = rows(*launches)
    return row


def test_the_cycles_make_what_was_measured_and_the_first_token_is_not_theirs() -> None:
    row = only(*controls(), eagle3())
    assert (row.launch, row.workload, row.concurrency, row.tokens) == ("02-eagle3-2step", "single", 1, 256)
    assert row.cycle_ms == pytest.approx(CYCLE, rel=1e-3)
    assert row.tok_s == pytest.approx(row.measured_tok_s)
    assert row.accept_length == pytest.approx(256 / 138)
    assert row.break_even_cycle_ms == pytest.approx(256 / 138 * 255 / 256 / 44.6 * 1e3)
    assert row.headroom_ms == pytest.approx((row.break_even_cycle_ms or 0) - CYCLE, rel=1e-3)
    assert row.break_even_accept_length == pytest.approx(CYCLE / (1e3 / 44.6) * 256 / 255, rel=1e-3)
    assert (row.loses, row.why) == (False, None)


def test_the_draft_model_is_named() -> None:
    row = only(*controls(), eagle3())
    assert row.draft_model == EAGLE3["draft_model_path"]
    assert cells(row)[COLUMNS.index("draft model")] == "draft"
    assert [draft_name(p) for p in ("/a/b/", "hub/name", "name", None)] == ["b", "name", "name", NONE]


def test_verify_may_take_what_the_rest_of_the_cycle_leaves() -> None:
    """The cycle takes 30.9 ms and may take 41.4; verify, 25.06 of them, may take 10.5 more."""
    row = only(*controls(), eagle3(), carrying(table(*whole())))
    assert row.verify_ms == pytest.approx(25.0625, rel=1e-3)
    assert row.verify_at_most_ms == pytest.approx((row.verify_ms or 0) + (row.headroom_ms or 0))
    assert (row.verify_source, row.verify_clock) == ("probe", "gpu")
    assert (sentence(row) or "").endswith("; verify mean 25.1 by probe, at most 35.6")


def test_verify_is_the_part_of_the_timed_cycle_that_it_is_of_its_own() -> None:
    """The instrumented launch ran a quarter faster than the timed one: the part counts, not the milliseconds."""
    row = only(*controls(), eagle3(tuple(v / 1.25 for v in (59.8,) * 6)), carrying(table(*whole())))
    assert row.verify_ms == pytest.approx(25.0625 * 1.25, rel=1e-3)


def test_where_the_rest_alone_is_too_long_no_verify_is_short_enough() -> None:
    slow = eagle3(tuple(v / 3 for v in (59.8,) * 6))
    short = carrying(table(*whole(verify=1.0)))
    row = only(*controls(), slow, short)
    assert (row.loses, row.verify_at_most_ms) == (True, None)
    assert row.verify_ms is not None
    assert cells(row)[-2:] == (NO_ROOM, "probe (gpu)")
    assert "too long); verify mean 3.0 by probe, at most none" in (sentence(row) or "")


def test_the_device_timer_tells_verify_where_no_probe_does() -> None:
    row = only(*controls(), eagle3(), carrying(table(timer(Phase.VERIFY, 24.0))))
    assert row.verify_ms == pytest.approx(24.0, rel=1e-2)
    assert row.verify_source == "device-timer"


@pytest.mark.parametrize(
    ("launches", "why", "why_no_verify"),
    [
        ((eagle3(),), "the control arm was not measured", None),
        ((*controls(), eagle3()), None, "no launch of it carried instruments"),
        ((*controls(), eagle3(), carrying(untold())), None, NO_PROBE),
        (
            (*controls(), make_launch(series(launch="02-e"), id="02-e", arm="eagle3-2step", role="arm")),
            "are not known of every answer",
            None,
        ),
    ],
)
def test_what_is_not_known_has_a_reason_and_no_number(
    launches: tuple[LaunchEvidence, ...], why: str | None, why_no_verify: str | None
) -> None:
    row = only(*launches)
    for told, wanted in ((row.why, why), (row.why_no_verify, why_no_verify)):
        assert (told is None) == (wanted is None)
        assert (wanted or "") in (told or "")
    assert row.verify_ms is None
    assert (row.break_even_cycle_ms is None) == (why is not None)
    assert (sentence(row) is None) == (why is not None)


def test_an_arm_that_was_not_timed_has_the_cycles_of_its_instruments_and_says_so() -> None:
    row = only(*controls(), carrying(table(*whole())))
    assert (row.launch, row.instrumented) == ("05-eagle3-2step-phases", True)
    assert row.cycle_ms == pytest.approx(CYCLE, rel=1e-3)
    assert row.verify_ms == pytest.approx(25.0625, rel=1e-3)
    assert cells(row)[0] == "eagle3-2step with instruments"
    assert (sentence(row) or "").startswith("eagle3-2step with instruments single: 1.86 tokens")
    timed = only(*controls(), eagle3(), carrying(table(*whole())))
    assert (timed.launch, timed.instrumented) == ("02-eagle3-2step", False)


def test_instruments_without_the_control_arm_say_what_measures_it() -> None:
    row = only(carrying(table(*whole())))
    assert row.break_even_cycle_ms is None
    assert "the control arm was not measured in this session: pytest -m eagle3 does" in (row.why or "")


def test_a_pinned_arm_says_so_and_controls_have_no_row() -> None:
    (row,) = rows(*controls(), eagle3(arm="eagle3-pinned"))
    assert row.pinned == 2.5
    assert cells(row)[0] == "eagle3-pinned (pinned)"
    assert rows(*controls()) == ()


def test_several_streams_are_one_stream_each() -> None:
    pair = eagle3(workload="pair", concurrency=2)
    twin = make_launch(series(workload="pair", concurrency=2))
    row = only(twin, pair)
    assert (row.workload, row.concurrency) == ("pair", 2)
    assert row.tok_s == pytest.approx(59.8, rel=1e-2)


def test_every_surface_shows_it() -> None:
    run = make_run(*controls(), eagle3(), carrying(table(*whole())))
    file = build(run, (), make_rig())
    for text in (render(file, "reports/x"), page(file, run, Path("/nowhere"))):
        assert "Arithmetic" in text
        assert "break-even accept length" in text
        assert f"{file.arithmetic[0].verify_at_most_ms:.2f}" in text


def test_the_arms_table_has_the_same_break_even() -> None:
    file = build(examples.run_evidence(), (), examples.rig())
    assert len(file.arithmetic) == 2
    limits = {(r.launch, r.workload): r.break_even_cycle_ms for r in file.arithmetic}
    assert limits == {
        (r.launch, r.workload): r.break_even_cycle_ms for r in file.arms if r.break_even_cycle_ms is not None
    }


def test_foreign_words_stay_words() -> None:
    arm = {"name": "eagle3-2step", **EAGLE3, "draft_model_path": f"/m/{MARKUP}"}
    rig = make_rig(arms=[{"name": "baseline", "kind": "baseline"}, arm])
    run = make_run(*controls(), eagle3(), carrying(table(phase(), unknown={"probe": MARKUP})))
    file = build(run, (), rig)
    for text in (render(file, "reports/x"), page(file, run, Path("/nowhere"))):
        assert text.count(MARKUP) == 0


def one_of_several(ratio: float, interval: tuple[float, float] | None, cycle: float = 36.6) -> str:
    row = Arithmetic(
        launch="02-eagle3", arm="eagle3", workload="conc8", draft_model="/d", concurrency=8, tokens=256,
        accept_length=1.88, cycle_ms=cycle, break_even_cycle_ms=37.5, headroom_ms=37.5 - cycle,
    )  # fmt: skip
    return sentence(row, Level(concurrency=8, n=(6, 12), ratio=ratio, interval=interval)) or ""


def test_of_several_streams_the_line_is_of_one_and_says_where_all_together_lose() -> None:
    assert one_of_several(0.98, (0.97, 0.99)) == (
        "eagle3 conc8: one stream: 1.88 tokens in 36.6 ms, break-even 37.5 (0.9 to spare); "
        "but all 8 together lose 2.0 %"
    )
    assert one_of_several(1.02, (1.01, 1.03), cycle=38.0).endswith("too long); but all 8 together win 2.0 %")
    assert one_of_several(0.99, (0.97, 1.01)).endswith("; all 8 together: not decided")
    assert one_of_several(1.02, (1.01, 1.03)).endswith("(0.9 to spare)")


def test_where_the_rig_asks_more_than_break_even_the_line_and_verify_are_held_against_that() -> None:
    """The cycle takes 30.9 ms; for 1.5x it may take 41.43 / 1.5, and verify 3.3 ms less than its 25.06."""
    rig = make_rig(twins=[{"at_least": 1.5}])
    (row,) = arithmetic_rows(rig, make_run(*controls(), eagle3(), carrying(table(*whole()))))
    assert row.asked_cycle_ms == pytest.approx((row.break_even_cycle_ms or 0) / 1.5)
    assert row.verify_at_most_ms == pytest.approx(
        (row.verify_ms or 0) + (row.asked_cycle_ms or 0) - (row.cycle_ms or 0)
    )
    assert "for 1.50x at most 27.6 (3.3 too long), break-even 41.4 (10.5 to spare)" in (sentence(row) or "")
