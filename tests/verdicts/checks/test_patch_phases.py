"""Where the loss of a change lies: the phase with its milliseconds leads the sentence, and what is not known says why and what would tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.verdicts.evidence import make_run
from tests.verdicts.phase_evidence import phase, table
from tests.verdicts.side_evidence import FILE, SPEED, run_of, runs, side_rig, sides_made
from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.phases import Phase
from tokgate.records.side import BASE, HEAD
from tokgate.rig.models import Rig
from tokgate.verdicts.checks.patch import patch
from tokgate.verdicts.diagnosis.ranking import diagnose

STILL = (1.0, 1.0005, 0.9995, 1.0002)
COSTS = 0.03


def slower(by: float = COSTS) -> tuple[float, ...]:
    return tuple(one * (1 - by) for one in STILL)


def carrying(side: str, *, verify: float, factor: float = 1.0) -> LaunchEvidence:
    found = run_of(
        side,
        9 if side == HEAD else 10,
        factor=factor,
        phases=table(
            phase(starts=(verify,) * 6), phase(Phase.DRAFT, (3.0,) * 6), phase(Phase.DRAFT_EXTEND, (1.0,) * 6)
        ),
    )
    role = "instrumented" if side == HEAD else "side-phases"
    return found.model_copy(update={"launch": found.launch.model_copy(update={"role": role})})


BOTH = (carrying(HEAD, verify=25.95, factor=1 - COSTS), carrying(BASE, verify=25.0))


def judged(
    carried: Sequence[LaunchEvidence] = BOTH, rig: Rig | None = None, **changes: Any
) -> dict[str, Verdict]:
    heads = changes.pop("heads", runs(HEAD, slower()))
    bases = changes.pop("bases", runs(BASE, STILL))
    found = patch(rig or side_rig(), heads, bases, "single", made=sides_made(), carried=carried)
    return {verdict.metric or "": verdict for verdict in found}


def test_the_phase_and_its_milliseconds_stand_in_the_first_line() -> None:
    lost = judged()["decode_tok_s"]
    assert lost.outcome is Outcome.REGRESSED
    assert lost.headline.startswith(
        "the change costs 3.0 % [2.6, 3.4], verify +0.95 ms of the +0.95 ms a cycle: decode "
    )


def test_a_phase_that_costs_more_than_the_whole_stands_beside_what_gains_the_rest() -> None:
    both = (carrying(HEAD, verify=26.5, factor=1 - COSTS), BOTH[1])
    headline = judged(carried=both)["decode_tok_s"].headline
    assert ", verify +1.50, the rest of the cycle -0.55 ms of the +0.95 ms a cycle: " in headline


def test_evidence_says_where_then_in_what_then_on_which_runs_then_how_sure() -> None:
    where, change, by_run, *sure = judged()["decode_tok_s"].evidence
    assert where.startswith("cycle 31.75 ms, base 30.80: draft ")
    assert "verify +0.95" in where
    assert where.endswith("phases by probe, gpu clock")
    assert change.startswith("the change: 0000000000 change 0, in ")
    assert FILE in change
    assert by_run.startswith("server run by server run: ")
    assert sure[0].startswith("p<0.001 of no loss")


def test_the_next_step_names_phase_and_files() -> None:
    do = judged()["decode_tok_s"].do or ""
    assert do.startswith(
        f"read what the change does in verify ({FILE}), then measure again: pytest perf_tests -m patch "
    )


def test_without_phases_the_cycle_is_told_and_the_next_step_measures_which_phase_it_is() -> None:
    lost = judged(carried=())["decode_tok_s"]
    assert ", the cycle +0.95 ms: " in lost.headline
    assert (
        "which phase of it is not known: no phases of base: no launch of it carried instruments"
        in lost.evidence[0]
    )
    assert lost.do is not None
    assert lost.do.startswith(
        "measure which phase it is: pytest perf_tests -m patch --rig small --rig-set sampling.gpu_time_s="
    )
    assert lost.do.endswith(" -k 'eagle3-2step and single'")


def test_a_rig_without_instruments_says_why_no_phase_is_known_and_sends_nobody_to_measure_it() -> None:
    rig = side_rig()
    rig = rig.model_copy(update={"instruments": rig.instruments.model_copy(update={"skip": "no probe here"})})
    lost = judged(carried=(), rig=rig)["decode_tok_s"]
    assert "no launch carries instruments, since no probe here" in lost.evidence[0]
    assert lost.do is not None
    assert "which phase" not in lost.do


@pytest.mark.parametrize("metric", ["accept_length", "ttft_ms"])
def test_what_is_no_loss_of_speed_has_no_phase(metric: str) -> None:
    assert "verify" not in judged()[metric].headline


def test_a_start_that_met_something_else_does_not_move_the_shares_from_the_measured_change() -> None:
    """Medians do not see it, means do: the loss and its milliseconds must be one and the same."""
    hit = (*SPEED[:3], SPEED[3] * 0.9, *SPEED[4:])
    bases = (run_of(BASE, 4, hit), *runs(BASE, STILL)[1:])
    lost = judged(carried=(), heads=runs(HEAD, slower(0.1)), bases=bases)["decode_tok_s"]
    assert lost.headline.startswith("the change costs 10.0 % [")
    assert ", the cycle +3.4" in lost.headline
    assert lost.evidence[0].startswith("cycle 34.2")


def test_the_diagnosis_holds_a_loss_against_the_base_beside_it_and_not_against_a_stored_number() -> None:
    verdicts = tuple(judged().values())
    launches = (*runs(HEAD, slower()), *runs(BASE, STILL), *BOTH)
    found = diagnose(side_rig(), make_run(*launches, sides=sides_made()), verdicts, {})
    change, verify = (
        next(c for c in found.causes if c.name == name) for name in ("the change", "verify slower")
    )
    assert (change.strength, change.isolated_by) == ("isolated", "head against base")
    assert found.causes[0] is change
    for cause in (change, verify):
        (told,) = cause.explains
        assert told.against == "its base, in this session"
        assert (round(told.share, 3), round(told.loss, 3)) == (0.03, 0.03)
    assert not {"tree patched", "stale baseline"} & {c.name for c in (*found.causes, *found.excluded)}
