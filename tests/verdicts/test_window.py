"""What a machine did while it was measured decides whether the numbers are worth judging."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import make_launch, make_rig, make_slate, series
from tests.verdicts.telemetry_windows import THERMAL, card, stranger, telemetry, watched, window
from tokgate.records import GenerationStatus, GpuHolder, LaunchEvidence, Outcome, Verdict
from tokgate.records.telemetry import Telemetry
from tokgate.stats.strangers import NAMES_NOBODY
from tokgate.verdicts.establish import Established, establish, establish_workload
from tokgate.verdicts.validity import between_runs
from tokgate.verdicts.window_notes import notes

RIG = make_rig()


def refused(launch: LaunchEvidence) -> Verdict:
    found = establish_workload(RIG, launch, "single", check="decode_throughput")
    assert isinstance(found, Verdict)
    assert found.outcome is Outcome.INVALID
    return found


def accepted(launch: LaunchEvidence) -> None:
    found = establish_workload(RIG, launch, "single", check="decode_throughput")
    assert isinstance(found, Established), found.headline


def quiet(*odd: Any) -> tuple[Any, ...]:
    """Six windows, the last of them as given."""
    return (*(window(batch) for batch in range(6 - len(odd))), *odd)


def test_a_quiet_machine_is_no_objection() -> None:
    accepted(watched())
    assert notes(watched()) == ()


def test_a_launch_that_nobody_watched_is_judged_as_before() -> None:
    launch = watched().model_copy(update={"telemetry": None, "windows": ()})
    accepted(launch)
    assert notes(launch) == ()


def test_somebody_elses_process_makes_its_window_worthless() -> None:
    verdict = refused(watched(*quiet(window(4, strangers=(stranger(),)), window(5, strangers=(stranger(),)))))

    assert (
        "somebody else computed on GPU 5 meanwhile: pid 4711 of ann (python3 train.py), in 2 of 6 windows, "
        "first seen 0.5 s into start 4 of single"
    ) in verdict.headline
    assert "ask its owner" in (verdict.do or "")
    assert "it held 512 MiB" in verdict.evidence
    assert "launches/01-baseline/telemetry.jsonl" in verdict.raw


def test_every_stranger_is_named() -> None:
    verdict = refused(
        watched(*quiet(window(5, strangers=(stranger(), stranger(9, user=None, command=None)))))
    )
    assert any("pid 9 of an unknown user (command unknown)" in line for line in verdict.evidence)


def test_a_process_that_the_clean_slate_had_seen_is_told_there_and_not_again() -> None:
    slate = make_slate("before 01-baseline").model_copy(
        update={"holders": (GpuHolder(gpu_index=5, pid=4711, start_ticks=9, used_mib=0.0),)}
    )
    accepted(watched(*quiet(window(5, strangers=(stranger(),))), slate=slate))


@pytest.mark.parametrize(
    "reason", ["hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown"]
)
def test_a_card_that_was_held_back_is_told_with_its_clocks(reason: str) -> None:
    hot = card(1, mhz=1410.0, celsius_max=92.0, reasons={reason: 4})
    verdict = refused(watched(*quiet(window(4, card(0), hot), window(5, card(0), hot))))

    assert (
        f"GPU 1 slowed down in 2 of 6 windows of single ({reason}): "
        "GPU 1 ran at 1410 MHz and 92 °C, 1980 MHz before"
    ) in verdict.headline
    assert f"start 4, GPU 1: {reason} in 4 of 10 rows, 1410 to 1410 MHz, 92 °C" in verdict.evidence
    assert "cooling" in (verdict.do or "")


def test_the_window_that_shows_most_is_told_first() -> None:
    begun, full = card(0, reasons={"sw_thermal_slowdown": 1}), card(0, mhz=1410.0, reasons=THERMAL)
    verdict = refused(watched(*quiet(window(4, begun), window(5, full))))
    assert "GPU 0 ran at 1410 MHz and 61 °C, 1980 MHz before" in verdict.headline


def test_heat_from_the_first_window_on_has_no_before() -> None:
    hot = card(0, mhz=None, celsius_max=None, reasons=THERMAL)
    verdict = refused(watched(*(window(batch, hot) for batch in range(6))))
    assert "GPU 0 slowed down in 6 of 6 windows" in verdict.headline
    assert "clock unknown, from the first window on" in verdict.headline


def test_what_happened_in_the_warm_up_or_another_workload_is_not_judged() -> None:
    hot = card(0, reasons=THERMAL)
    warm = window(0, hot, warmup=True, strangers=(stranger(),))
    other = window(0, hot, workload="pair", strangers=(stranger(),))
    accepted(watched(warm, other, *quiet()))


def test_what_was_said_does_not_depend_on_heat() -> None:
    hot = tuple(window(batch, card(0, reasons=THERMAL)) for batch in range(6))
    found = establish(watched(*hot), "single", at_least=6, check="lossless", decode=False)
    assert isinstance(found, Established)


def test_a_power_limit_is_normal_and_noted() -> None:
    capped = tuple(window(batch, card(0, reasons={"sw_power_cap": 10})) for batch in range(6))
    accepted(watched(*capped))
    assert notes(watched(*capped)) == ("sw_power_cap was active in 6 of 6 windows: normal under full load",)


def test_silence_where_gpus_were_asked_is_an_objection() -> None:
    mute = tuple(
        window(b, unknown="no row at all", strangers=None).model_copy(update={"gpus": ()}) for b in range(6)
    )
    told = telemetry(rows={}, hz={}, problems=("nvidia-smi did not answer within 10 s",))
    verdict = refused(watched(*mute, told=told))

    assert (
        "nobody watched the GPUs: nothing is known of them in 6 of 6 windows of single: no row at all; "
        "nvidia-smi did not answer within 10 s"
    ) in verdict.headline


def test_silence_on_a_rig_without_gpus_is_a_note() -> None:
    mute = tuple(
        window(b, host_busy=None, host_unknown="no row at all").model_copy(update={"gpus": ()})
        for b in range(6)
    )
    launch = watched(*mute, told=telemetry(gpus=0, source="none", rows={}, hz={}))
    accepted(launch)
    assert notes(launch) == ("the host's load is unknown in 6 of 6 windows: no row at all",)


def test_some_windows_unknown_are_noted_and_the_rest_is_judged() -> None:
    gap = window(
        5, unknown="1.4 s without a row", strangers=None, strangers_unknown="6.0 s without an answer"
    )
    launch = watched(*quiet(gap))
    accepted(launch)
    established = establish(launch, "single", at_least=6)
    assert isinstance(established, Established)
    for told in established.series.values():
        assert told.warnings[-1].startswith(
            "nobody watched the GPUs in 1 of 6 windows of single (1.4 s without a row)"
        )
    assert notes(launch) == (
        "what the GPUs did is unknown in 1 of 6 windows: 1.4 s without a row",
        "other processes cannot be told in 1 of 6 windows: 6.0 s without an answer",
    )


@pytest.mark.parametrize(
    "blind",
    [
        {"unknown": "9.8 s without a row"},
        {"strangers": None, "strangers_unknown": "9.0 s without an answer to who computes"},
    ],
    ids=["no rows", "no answer to who computes"],
)
def test_more_windows_unknown_than_known_are_an_objection(blind: dict[str, Any]) -> None:
    three, four = (tuple(window(b, **blind) for b in range(6 - n, 6)) for n in (3, 4))
    accepted(watched(*quiet(*three)))
    verdict = refused(watched(*quiet(*four), told=telemetry(problems=("nvidia-smi (gpus) ended with 0",))))
    assert "nothing is known of them in 4 of 6 windows of single: 9." in verdict.headline
    assert "nvidia-smi (gpus) ended with 0" in verdict.headline
    assert "launches/01-baseline/telemetry.jsonl" in verdict.raw


def test_a_driver_that_names_nobody_is_a_limit_of_the_machine_and_noted() -> None:
    mute = tuple(window(b, strangers=None, strangers_unknown=NAMES_NOBODY) for b in range(6))
    accepted(watched(*mute))
    assert notes(watched(*mute)) == (f"other processes cannot be told in 6 of 6 windows: {NAMES_NOBODY}",)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (None, "the rig small has 2, launch.json holds no telemetry"),
        (telemetry(gpus=0), "the rig small has 2, the telemetry is of 0"),
        (telemetry(gpus=1), "the rig small has 2, the telemetry is of 1"),
    ],
)
def test_a_rig_with_gpus_wants_telemetry_of_all_of_them(told: Telemetry | None, words: str) -> None:
    rig = make_rig(gpus={"count": 2})
    watched_by_all = make_launch(gpus=2)
    assert isinstance(establish_workload(rig, watched_by_all, "single", check="c"), Established)
    verdict = establish_workload(
        rig, watched_by_all.model_copy(update={"telemetry": told}), "single", check="c"
    )
    assert isinstance(verdict, Verdict)
    assert verdict.outcome is Outcome.INVALID
    assert f"nobody watched the GPUs: {words}" in verdict.headline


@pytest.mark.parametrize(
    ("changes", "note"),
    [
        ({"hz": {"gpus": 2.2}}, "2.2 rows a second came, 5 are wanted"),
        ({"dropped": 7}, "7 rows did not fit into telemetry.jsonl"),
        ({"missing": {"watts": "not supported"}}, "no GPU tells watts: not supported"),
        ({"problems": ("nvidia-smi (holders) ended with 15",)}, "nvidia-smi (holders) ended with 15"),
    ],
)
def test_how_the_watching_went_is_noted(changes: dict[str, Any], note: str) -> None:
    launch = watched(told=telemetry(**changes))
    accepted(launch)
    assert any(line.startswith(note) for line in notes(launch))


def test_a_stolen_host_is_noted() -> None:
    launch = watched(*quiet(window(5, host_steal=0.08)))
    accepted(launch)
    assert notes(launch) == (
        "the hypervisor gave up to 8.0% of the host's time to somebody else in one window",
    )


@pytest.mark.parametrize("mhz", [1881.0, 1870.0])
def test_a_clock_that_was_not_one_makes_the_windows_worthless(mhz: float) -> None:
    """1881 of 1980 MHz is 5 % less: the limit itself is none."""
    launch = watched(*quiet(window(5, card(0, mhz=mhz), card(1))))
    if mhz == 1881.0:
        accepted(launch)
        return
    verdict = refused(launch)

    assert (
        "the clock of GPU 0 was not one in single: GPU 0 ran at 1870 MHz in start 5 and at 1980 in start 0, more than "
        "5% apart"
    ) in verdict.headline
    assert "GPU 0: 5.6% between windows" in verdict.evidence
    assert "nvidia-smi -q -d CLOCK,POWER,PERFORMANCE" in (verdict.do or "")


def test_a_card_below_the_others_makes_all_wait_for_it() -> None:
    slow: dict[str, Any] = {"mhz": 1605.0, "reasons": {"sw_power_cap": 10}}
    verdict = refused(watched(*(window(b, card(0), card(1), card(2, **slow)) for b in range(6))))

    assert (
        "GPU 2 ran at 1605 MHz in single, the others at 1980: all wait for it (at its power limit)"
        in verdict.headline
    )


@pytest.mark.parametrize(("mhz", "fit"), [(1815.0, True), (1790.0, True), (1700.0, False)])
def test_a_card_at_its_power_limit_is_regulated_and_given_more_room(mhz: float, fit: bool) -> None:
    """1815 to 1890 MHz were seen between windows of one H200 that prefills and decodes."""
    capped: dict[str, Any] = {"reasons": {"sw_power_cap": 7}}
    windows = (
        *(window(b, card(0, mhz=1890.0, **capped)) for b in range(5)),
        window(5, card(0, mhz=mhz, **capped)),
    )
    if fit:
        accepted(watched(*windows))
    else:
        assert "more than 10% apart" in refused(watched(*windows)).headline


def test_a_clock_of_too_few_rows_or_of_a_warm_up_says_nothing() -> None:
    accepted(watched(*quiet(window(5, card(0, mhz=300.0, rows=2), card(1)))))
    accepted(watched(window(9, card(0, mhz=300.0), warmup=True), *(window(b) for b in range(6))))


def test_a_clock_that_moved_between_runs_of_an_arm_makes_them_two_machines() -> None:
    """Each run is steady in itself: only together they show it."""
    slow = watched(
        *(window(b, card(0, mhz=1700.0), card(1, mhz=1700.0)) for b in range(6)), id="04-baseline-again"
    )
    launches = (
        watched(),
        slow.model_copy(update={"launch": slow.launch.model_copy(update={"role": "restart"})}),
    )
    for launch in launches:
        accepted(launch)
    (found,) = between_runs(RIG, launches, "single")

    assert found.what == (
        "the clock moved between server runs: GPU 0 ran at 1700 MHz in single on 04-baseline-again, at 1980 on "
        "01-baseline, more than 5% apart"
    )
    assert between_runs(RIG, launches[:1], "single") == ()


def test_the_power_draw_of_a_hang_is_evidence_beside_the_failure() -> None:
    spinning = tuple(card(i, watts_mean=300.0, watts_last=96.0, busy_percent_last=100.0) for i in range(2))
    generations = series()
    hung = generations[5].model_copy(
        update={"status": GenerationStatus.TIMED_OUT, "why": "no end before 120 s", "counters": None}
    )
    verdict = refused(
        watched(*quiet(window(5, *spinning, failed=True)), generations=(*generations[:5], hung))
    )

    assert "timed-out" in verdict.headline
    assert (
        "the power draw of start 5 says hang: 2 GPUs all busy at 96 W (GPU 0), 412 W in good windows"
        in verdict.evidence
    )
