from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.verdicts.evidence import make_launch, series
from tests.verdicts.nccl.evidence import BLOCK, MAIN, nccl_rig, started
from tokgate.records import EnvironmentTruth, LaunchEvidence, Outcome, VariableState, Verdict
from tokgate.report.commands import commands
from tokgate.verdicts.checks.nccl_tuning import nccl_side, nccl_tuning

TUNED = (88.8, 88.7, 88.9, 88.8, 88.6, 89.0)
UNTUNED = (63.0, 62.9, 63.1, 63.0, 62.8, 63.2)
OFF = "05-nccl-off"


def gone(found: Mapping[int, Mapping[str, str]] | None = None) -> EnvironmentTruth:
    """Nothing of the block in any process but what `found` plants by rank."""
    planted = {n: {**dict.fromkeys(BLOCK), **(found or {}).get(n, {})} for n in (0, 1)}
    rows = tuple(
        row.model_copy(update={"state": VariableState.ABSENT, "found": None}) if row.pid == MAIN else row
        for row in started(planted).rows
    )
    return EnvironmentTruth(processes=(), rows=rows)


def off(rates: tuple[float, ...] = UNTUNED, **changes: Any) -> LaunchEvidence:
    fields: dict[str, Any] = {"without": gone()}
    return make_launch(series(rates, launch=OFF), id=OFF, role="nccl-off", gpus=2, **{**fields, **changes})


def judged(
    on: tuple[float, ...] = TUNED,
    untuned: LaunchEvidence | None = None,
    again: tuple[float, ...] | None = None,
) -> Verdict:
    """`again`: the control arm's second run in the session, where there is one."""
    tuned = [make_launch(series(on), gpus=2)]
    if again is not None:
        name = "04-baseline-again"
        tuned.append(make_launch(series(again, launch=name), id=name, role="control-again", gpus=2))
    (verdict,) = nccl_tuning(nccl_rig(), tuned, untuned or off(), "single")
    return verdict


def test_what_the_block_buys_is_told_with_its_interval() -> None:
    verdict = judged()
    assert verdict.outcome is Outcome.PASS
    assert verdict.headline.startswith(
        "the NCCL block buys +41.0% on single: 88.8 tok/s with, 63.0 without, interval +"
    )
    assert verdict.interval is not None
    assert verdict.interval[0] < 0.41 < verdict.interval[1]
    assert verdict.reference is not None
    assert verdict.reference.value == pytest.approx(63.0)
    assert verdict.reference.kind == "twin"
    assert verdict.launches == ("01-baseline", OFF)


def test_a_block_that_costs_speed_is_a_regression() -> None:
    verdict = judged(UNTUNED, off(TUNED), UNTUNED)
    assert verdict.outcome is Outcome.REGRESSED
    assert verdict.headline.startswith("the NCCL block costs 29.1% on single")
    assert "leave out one at a time" in (verdict.do or "")


def test_a_block_that_buys_nothing_passes_and_says_so() -> None:
    verdict = judged(TUNED, off(TUNED))
    assert verdict.outcome is Outcome.PASS
    assert "buys nothing worth calling" in verdict.headline


def test_a_cost_that_one_server_run_shows_waits_for_a_second() -> None:
    verdict = judged(UNTUNED, off(TUNED))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert verdict.headline.startswith("what the NCCL block buys is undecided (-29.1%) on single")
    assert verdict.needs == "1 more restart of baseline"
    assert commands(verdict.do, "RUN") == ("pytest perf_tests -m 'eagle3 or nccl' --rig small",)
    assert judged(UNTUNED, off(TUNED), TUNED).outcome is not Outcome.REGRESSED


def test_runs_far_apart_leave_it_open_what_the_block_buys() -> None:
    """The control's own runs lie 6 % apart: no loss of 3 % is excluded by their middle."""
    verdict = judged(TUNED, off(TUNED), tuple(v * 0.94 for v in TUNED))
    (again,) = commands(verdict.do, "RUN")
    assert again.startswith(
        "pytest perf_tests -m 'eagle3 or nccl' --rig small --rig-set workloads.single.repeats="
    )
    assert verdict.outcome in (Outcome.INCONCLUSIVE, Outcome.INVALID)


def test_a_launch_that_has_the_block_after_all_compares_nothing() -> None:
    verdict = judged(untuned=off(without=gone({1: {"NCCL_PROTO": "LL"}})))
    assert verdict.outcome is Outcome.INVALID
    assert (
        "NCCL_PROTO=LL is in scheduler TP1 (pid 102), though this launch goes without the block"
        in verdict.headline
    )


@pytest.mark.parametrize("state", [VariableState.ERASED, VariableState.UNREADABLE])
def test_absence_that_cannot_be_proven_is_no_absence(state: VariableState) -> None:
    rows = tuple(
        row.model_copy(update={"state": state}) if row.variable == "NCCL_ALGO" else row for row in gone().rows
    )
    verdict = judged(untuned=off(without=EnvironmentTruth(processes=(), rows=rows)))
    assert verdict.outcome is Outcome.INVALID
    assert "NCCL_ALGO cannot be proven absent" in verdict.headline


@pytest.mark.parametrize("without", [None, EnvironmentTruth(processes=(), rows=())])
def test_nobody_looking_is_no_absence(without: EnvironmentTruth | None) -> None:
    assert judged(untuned=off(without=without)).outcome is Outcome.INVALID


def test_what_sglang_fills_in_itself_is_a_warning() -> None:
    block = {"NCCL_NVLS_ENABLE": "0"}
    rows = tuple(
        row.model_copy(update={"state": VariableState.ABSENT, "found": None}) if row.pid == MAIN else row
        for row in started(block=block).rows
    )
    untuned = off(without=EnvironmentTruth(processes=(), rows=rows))
    (verdict,) = nccl_tuning(nccl_rig(block), make_launch(series(TUNED), gpus=2), untuned, "single")
    assert verdict.outcome is Outcome.PASS
    assert "SGLang itself sets NCCL_NVLS_ENABLE where the rig does not" in verdict.warnings


def test_each_side_is_established_on_its_own() -> None:
    rig = nccl_rig(budgets=[{"metric": "decode_tok_s", "at_least": 80}])
    (on,) = nccl_side(rig, make_launch(series(TUNED), gpus=2), "single")
    (untuned,) = nccl_side(rig, off(), "single")
    assert (on.outcome, on.headline) == (Outcome.PASS, "decode 88.8 tok/s with the NCCL block, no limit set")
    # A budget of the rig as written is no limit for a launch without its block.
    assert untuned.outcome is Outcome.PASS
    assert untuned.headline == "decode 63.0 tok/s without the NCCL block, no limit set"


def test_a_side_without_good_generations_is_invalid() -> None:
    silent = make_launch((), id=OFF, role="nccl-off", gpus=2, without=gone())
    (verdict,) = nccl_side(nccl_rig(), silent, "single")
    assert verdict.outcome is Outcome.INVALID
