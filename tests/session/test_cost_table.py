"""Starts with and without the probe become its cost, with an interval; they are never judged as a workload."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.session.generations import MS
from tests.session.probe_lines import cycles, file
from tests.session.test_phase_table import NAME, START, folder, kept
from tests.verdicts.evidence import make_generation
from tokgate.records import Generation
from tokgate.records.phases import Phase, PhaseTable, ProbeCost
from tokgate.session.run_folder import RunFolder, load_launch

PAIRS = 6


def taken(
    number: int, workload: str, *, slower: float = 1.0, verify_ct: int | None = 20, slot: int = 0
) -> Generation:
    """Start `number` of the folder's own time, one every second."""
    at = 10 * START + number * START
    made = make_generation(
        index=10 + number // 2,  # behind the starts that the folder has
        slot=slot,
        workload=workload,
        launch=NAME,
        tokens=32,
        tok_s=100 / slower,
        verify_ct=verify_ct,
    )
    return made.model_copy(update={"sent_ns": at, "end_ns": at + 400 * MS, "chunk_ns": ()})


def paired(
    path: Path,
    slower: tuple[float, ...],
    *,
    verify_ct: tuple[int | None, int | None] = (20, 20),
    off_calls: bool = False,
    on_calls: bool = True,
) -> RunFolder:
    """`slower`: of each pair, how much longer it takes with the probe on."""
    written = folder(path)
    lines = []
    for pair, factor in enumerate(slower):
        on = taken(2 * pair, "single", slower=factor, verify_ct=verify_ct[0])
        off = taken(2 * pair + 1, "probe-off", verify_ct=verify_ct[1])
        written.append_generations(NAME, (on, off))
        lines += cycles(on.sent_ns + MS, 20) if on_calls else []
        lines += cycles(off.sent_ns + MS, 20) if off_calls else []
    kept(written, "probe/phases-7.jsonl", file(*lines, switch=True))
    kept(written, "probe/left.json", b"{}")
    return written


def table(written: RunFolder) -> PhaseTable:
    found = load_launch(written.launch_folder(NAME)).phases
    assert found is not None
    return found


def cost(written: RunFolder) -> ProbeCost:
    found = table(written).cost
    assert found is not None
    return found


def test_the_cost_is_the_median_of_the_pairs_with_its_interval(tmp_path: Path) -> None:
    found = cost(paired(tmp_path, (1.001, 1.002, 0.999, 1.003, 1.0005, 1.0025)))
    assert found.pairs == PAIRS
    assert found.slowdown == pytest.approx(0.0015, abs=1e-5)
    assert found.interval == pytest.approx((-0.001, 0.003), abs=1e-5)
    assert (found.by, found.why) == ("decode seconds a verify call", None)
    assert found.words.startswith("below 0.30% of decode time (median +0.15%")


def test_what_a_draft_happens_to_gain_is_no_cost_of_the_probe(tmp_path: Path) -> None:
    """As many seconds a cycle on both sides, but half the cycles, so half the time a token."""
    found = cost(paired(tmp_path, (2.0,) * PAIRS, verify_ct=(20, 10)))
    assert found.slowdown == pytest.approx(0.0, abs=1e-6)


def test_a_server_that_counts_no_verify_call_is_compared_by_the_token(tmp_path: Path) -> None:
    found = cost(paired(tmp_path, (1.004,) * PAIRS, verify_ct=(None, None)))
    assert found.by == "decode seconds a token"
    assert found.interval == pytest.approx((0.004, 0.004), abs=1e-6)
    assert found.words.startswith("between 0.40% and 0.40%")


def test_every_reading_of_the_probe_says_what_it_costs_and_starts_without_it_are_no_workload(
    tmp_path: Path,
) -> None:
    found = table(paired(tmp_path, (1.001,) * PAIRS, off_calls=False))
    assert {r.workload for r in found.readings} == {"single"}
    told = [r for r in found.readings if r.source == "probe"]
    assert told
    assert {r.cost for r in told} == {found.cost.words if found.cost else None}
    (verify,) = found.find(Phase.VERIFY, "probe")
    assert verify.n == 20 * PAIRS


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"off_calls": True}, "the switch did not work: 480 calls were recorded in the starts with the switch on, 480"),
        ({"on_calls": False}, "has no call: nothing was decoded, or the switch was off"),
        ({"on_calls": False, "off_calls": True}, "the probe recorded nothing in the starts with the switch on"),
    ],
)  # fmt: skip
def test_a_switch_that_did_not_work_is_told(tmp_path: Path, how: dict[str, bool], why: str) -> None:
    found = cost(paired(tmp_path, (1.0,) * PAIRS, **how))  # type: ignore[arg-type]
    assert why in (found.why or "")
    assert found.words.startswith("unknown: ")


def test_nothing_is_quicker_for_being_measured(tmp_path: Path) -> None:
    found = cost(paired(tmp_path / "far", (0.7, 0.72, 0.71, 0.7, 0.7, 0.7)))
    assert "by 28.0% or more" in (found.why or "")
    assert found.words.startswith("unknown: the starts with the probe on are quicker than their twins")
    wide = cost(paired(tmp_path / "wide", (0.7, 0.8, 1.1, 0.9, 0.7, 1.0)))  # as a busy machine has it
    assert (wide.why, wide.words[:12]) == (None, "below 10.00%")
    near = cost(paired(tmp_path / "near", (0.996,) * PAIRS))
    assert near.why is None


def test_a_call_here_and_there_is_no_probe_that_was_on(tmp_path: Path) -> None:
    written = paired(tmp_path, (1.0,) * PAIRS, on_calls=False)
    first = taken(0, "single").sent_ns + MS
    kept(written, "probe/phases-7.jsonl", file(*cycles(first, 1), switch=True))
    why = cost(written).why or ""
    assert "recorded 4 calls in the starts with the switch on, where 120 verify calls ran" in why


def test_too_few_pairs_have_no_interval_and_say_how_many_are_missing(tmp_path: Path) -> None:
    found = cost(paired(tmp_path, (1.0,) * 4))
    assert found.interval is None
    assert "needs 2 more" in (found.why or "")


def test_no_start_without_the_probe_is_told(tmp_path: Path) -> None:
    written = folder(tmp_path)
    kept(written, "probe/phases-7.jsonl", file(*cycles(START + 10 * MS, 40)))
    kept(written, "probe/left.json", b"{}")
    assert cost(written).why == "no start was taken with the probe switched off"


def test_a_switch_that_could_not_be_turned_is_told(tmp_path: Path) -> None:
    written = paired(tmp_path, (1.0,) * PAIRS)
    kept(written, "probe/left.json", b'{"switch": "read-only file system"}')
    assert cost(written).why == "the probe's switch could not be turned: read-only file system"
