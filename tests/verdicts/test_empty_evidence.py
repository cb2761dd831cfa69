"""No check may hold on nothing: an empty run, a dead server, a missing file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.verdicts import phase_evidence
from tests.verdicts.evidence import controls, eagle3, make_fingerprint, make_launch, make_rig, series
from tokgate.records import (
    EnvironmentTruth,
    GenerationStatus,
    Launch,
    LaunchEvidence,
    Liveness,
    Outcome,
    StartCause,
    StartFailure,
    VariableState,
    Verdict,
)
from tokgate.records.phases import Phase
from tokgate.verdicts.baselines.file import Absence
from tokgate.verdicts.checks.acceptance_length import acceptance_length
from tokgate.verdicts.checks.cache_state import cache_state
from tokgate.verdicts.checks.clean_slate import clean_slate
from tokgate.verdicts.checks.client_headroom import client_headroom
from tokgate.verdicts.checks.cycle_time import cycle_time
from tokgate.verdicts.checks.decode_throughput import decode_throughput
from tokgate.verdicts.checks.environment_truth import environment_truth
from tokgate.verdicts.checks.graph_share import graph_share
from tokgate.verdicts.checks.lossless import lossless
from tokgate.verdicts.checks.nccl_truth import nccl_truth
from tokgate.verdicts.checks.nccl_tuning import nccl_side, nccl_tuning
from tokgate.verdicts.checks.phases_agree import phases_agree
from tokgate.verdicts.checks.speculation_beats_its_twin import speculation_beats_its_twin
from tokgate.verdicts.checks.steadiness import drift, steadiness
from tokgate.verdicts.checks.stored_baseline import stored_baseline
from tokgate.verdicts.checks.time_to_first_token import time_to_first_token
from tokgate.verdicts.checks.verify_latency import verify_latency
from tokgate.verdicts.checks.verify_share import verify_share

RIG = make_rig()
ABSENT = Absence(path="baselines/small/x.json", identity={})
Check = Callable[[LaunchEvidence], tuple[Verdict, ...]]

CHECKS: dict[str, Check] = {
    "environment_truth": lambda e: environment_truth(RIG, e),
    "decode_throughput": lambda e: decode_throughput(RIG, e, "single"),
    "time_to_first_token": lambda e: time_to_first_token(RIG, e, "single"),
    "cycle_time": lambda e: cycle_time(RIG, e, "single"),
    "acceptance_length": lambda e: acceptance_length(RIG, e, "single"),
    "twin, arm": lambda e: speculation_beats_its_twin(RIG, e, controls(), "single"),
    "twin, control": lambda e: speculation_beats_its_twin(RIG, eagle3(), (e,), "single"),
    "twin, second control": lambda e: speculation_beats_its_twin(RIG, eagle3(), (controls()[0], e), "single"),
    "lossless, arm": lambda e: lossless(RIG, talking("01-baseline", "baseline"), e),
    "lossless, control": lambda e: lossless(RIG, e, talking("02-eagle3-2step", "eagle3-2step")),
    "nccl_side": lambda e: nccl_side(RIG, e, "single"),
    "nccl_tuning, with": lambda e: nccl_tuning(RIG, e, without_block(), "single"),
    "nccl_tuning, without": lambda e: nccl_tuning(RIG, controls()[0], e, "single"),
    "verify_latency": lambda e: verify_latency(RIG, e, "single"),
    "verify_share": lambda e: verify_share(RIG, e, "single"),
    "phases_agree": lambda e: phases_agree(RIG, e, "single"),
    "graph_share, arm": lambda e: graph_share(RIG, e, controls()[0], "single"),
    "graph_share, control": lambda e: graph_share(RIG, carrying(), e, "single"),
    "steadiness": lambda e: steadiness(RIG, e, "single"),
    "drift, first": lambda e: drift(RIG, (e, controls()[1]), "single"),
    "drift, second": lambda e: drift(RIG, (controls()[0], e), "single"),
    "cache_state": lambda e: cache_state(RIG, e, "single"),
    "client_headroom": lambda e: client_headroom(RIG, e, "single"),
    "stored_baseline": lambda e: stored_baseline(RIG, (e,), "single", ABSENT, make_fingerprint()),
}


def talking(name: str, arm: str) -> LaunchEvidence:
    generations = series((50.0, 50.0), launch=name, workload="lossless", tokens=8)
    return make_launch(generations, id=name, arm=arm)


def carrying() -> LaunchEvidence:
    """An arm with its instruments, which told everything."""
    step = phase_evidence.phase(Phase.STEP, (6.0,) * 6)
    return phase_evidence.carrying(
        phase_evidence.table(phase_evidence.phase(), step, agreements=(phase_evidence.agreement(),))
    )


def without_block() -> LaunchEvidence:
    """The control arm, proven to go without the NCCL block."""
    control = make_launch(series(launch="05-nccl-off"), id="05-nccl-off", role="nccl-off")
    rows = control.environment.rows if control.environment is not None else ()
    gone = tuple(
        row.model_copy(update={"state": VariableState.ABSENT, "found": None})
        for row in rows
        if row.variable == "NCCL_ALGO"
    )
    return control.model_copy(update={"without": EnvironmentTruth(processes=(), rows=gone)})


def speaking_too(evidence: LaunchEvidence) -> LaunchEvidence:
    """Add the lossless workload, so that one healthy launch suits every check."""
    said = series((50.0, 50.0), launch=evidence.launch.id, workload="lossless", tokens=8)
    return evidence.model_copy(update={"generations": (*evidence.generations, *said)})


def healthy(check: str) -> LaunchEvidence:
    if check == "nccl_tuning, without":
        return speaking_too(without_block())
    if check.startswith(("verify_", "phases_")) or check == "graph_share, arm":
        return speaking_too(carrying())
    is_control = check in {"twin, control", "lossless, control", "drift, first", "graph_share, control"}
    if is_control or check in {"twin, second control", "drift, second"}:
        return speaking_too(controls()[0 if is_control else 1])
    return speaking_too(eagle3())


def died(evidence: LaunchEvidence) -> dict[str, Any]:
    """The server was killed in mid-generation."""
    last = evidence.generations[-1].model_copy(
        update={"status": GenerationStatus.CUT, "why": "connection reset"}
    )
    rest = tuple(
        g.model_copy(update={"status": GenerationStatus.REFUSED, "why": "connection refused"})
        if g.workload == "lossless"
        else g
        for g in evidence.generations[:-1]
    )
    first = rest[0].model_copy(update={"status": GenerationStatus.CUT, "why": "connection reset"})
    return {
        "generations": (first, *rest[1:], last),
        "liveness": Liveness(alive=False, answered=False, why="exit code -9"),
    }


VOIDS: dict[str, Callable[[LaunchEvidence], dict[str, Any]]] = {
    "no generation": lambda _: {"generations": ()},
    "only warm-ups": lambda e: {
        "generations": tuple(g.model_copy(update={"warmup": True}) for g in e.generations)
    },
    "one too few": lambda e: {"generations": tuple(g for g in e.generations if g.index != 1)},
    "one failed": lambda e: {
        "generations": (
            *e.generations,
            e.generations[0].model_copy(update={"status": GenerationStatus.TIMED_OUT, "why": "120 s"}),
            e.generations[-1].model_copy(update={"status": GenerationStatus.TIMED_OUT, "why": "120 s"}),
        )
    },
    "died in mid-generation": died,
    "died after the last generation": lambda _: {"liveness": Liveness(alive=False, answered=False)},
    "mute after the last generation": lambda _: {"liveness": Liveness(alive=True, answered=False)},
    "never asked whether it lives": lambda _: {"liveness": None},
    "never started": lambda _: {
        "server": None,
        "generations": (),
        "failure": StartFailure(cause=StartCause.NO_MODEL, headline="no such model", do="mend the path"),
    },
    "failure beside generations": lambda _: {
        "failure": StartFailure(cause=StartCause.CRASHED, headline="crashed", do="read the log")
    },
    "no server": lambda _: {"server": None},
    "nobody looked at the machine": lambda _: {"slate": None},
    "nobody read the environment": lambda _: {"environment": None},
    "an empty environment proof": lambda _: {"environment": EnvironmentTruth(processes=(), rows=())},
    "a bench fault": lambda _: {"faults": ("flush_cache: HTTP 500",)},
    "another launch's generations": lambda e: {
        "generations": tuple(g.model_copy(update={"launch": "99-other"}) for g in e.generations)
    },
}

# The environment of a server is proven before it generates anything.
OF_THE_ENVIRONMENT = {
    "never started",
    "no server",
    "nobody read the environment",
    "an empty environment proof",
}
PAIRS = [
    (check, void)
    for check in CHECKS
    for void in VOIDS
    if check != "environment_truth" or void in OF_THE_ENVIRONMENT
]


@pytest.mark.parametrize("check", CHECKS)
def test_the_healthy_launch_is_judged(check: str) -> None:
    """Else the refusals below would prove nothing."""
    outcomes = {v.outcome for v in CHECKS[check](healthy(check))}

    assert Outcome.INVALID not in outcomes


@pytest.mark.parametrize(("check", "void"), PAIRS)
def test_nothing_to_judge_is_invalid_with_a_next_step(check: str, void: str) -> None:
    evidence = healthy(check)
    verdicts = CHECKS[check](evidence.model_copy(update=VOIDS[void](evidence)))

    assert verdicts
    for verdict in verdicts if check != "environment_truth" else verdicts[:1]:
        assert verdict.outcome is Outcome.INVALID
        assert verdict.do
        assert verdict.headline


@pytest.mark.parametrize("check", CHECKS)
def test_a_launch_that_never_was_is_invalid(check: str) -> None:
    bare = LaunchEvidence(launch=Launch(id="02-eagle3-2step", arm="eagle3-2step", role="arm"))

    assert {v.outcome for v in CHECKS[check](bare)} == {Outcome.INVALID}


@pytest.mark.parametrize("check", CHECKS)
def test_an_arm_the_rig_does_not_know_is_invalid(check: str) -> None:
    stranger = make_launch(id="07-other", arm="other")

    verdicts = CHECKS[check](stranger)

    assert Outcome.INVALID in {v.outcome for v in verdicts}
    assert not {v.outcome for v in verdicts} & {Outcome.REGRESSED, Outcome.IMPROVED}


UNKNOWN_WORKLOAD: dict[str, Check] = {
    "decode_throughput": lambda e: decode_throughput(RIG, e, "other"),
    "time_to_first_token": lambda e: time_to_first_token(RIG, e, "other"),
    "cycle_time": lambda e: cycle_time(RIG, e, "other"),
    "acceptance_length": lambda e: acceptance_length(RIG, e, "other"),
    "twin": lambda e: speculation_beats_its_twin(RIG, e, controls(), "other"),
    "nccl_side": lambda e: nccl_side(RIG, e, "other"),
    "nccl_tuning": lambda e: nccl_tuning(RIG, e, without_block(), "other"),
    "verify_latency": lambda e: verify_latency(RIG, e, "other"),
    "verify_share": lambda e: verify_share(RIG, e, "other"),
    "phases_agree": lambda e: phases_agree(RIG, e, "other"),
    "graph_share": lambda e: graph_share(RIG, e, controls()[0], "other"),
    "steadiness": lambda e: steadiness(RIG, e, "other"),
    "drift": lambda _: drift(RIG, controls(), "other"),
    "cache_state": lambda e: cache_state(RIG, e, "other"),
    "client_headroom": lambda e: client_headroom(RIG, e, "other"),
    "stored_baseline": lambda e: stored_baseline(RIG, (e,), "other", ABSENT, make_fingerprint()),
}


@pytest.mark.parametrize("check", UNKNOWN_WORKLOAD)
def test_a_workload_the_rig_does_not_know_is_invalid(check: str) -> None:
    assert {v.outcome for v in UNKNOWN_WORKLOAD[check](eagle3())} == {Outcome.INVALID}


def test_a_look_that_nobody_took_is_invalid() -> None:
    (verdict,) = clean_slate(None)

    assert verdict.outcome is Outcome.INVALID
    assert verdict.do


@pytest.mark.parametrize(
    "void", ["never started", "no server", "nobody read the environment", "a bench fault"]
)
def test_a_proof_start_that_came_to_nothing_is_invalid(void: str) -> None:
    start = make_launch((), id="00-nccl-proof", role="nccl-proof")
    (verdict,) = nccl_truth(RIG, start.model_copy(update=VOIDS[void](start)))
    assert verdict.outcome is Outcome.INVALID
    assert verdict.do


def test_no_control_at_all_is_invalid() -> None:
    (twin,) = speculation_beats_its_twin(RIG, eagle3(), (), "single")
    (drifted,) = drift(RIG, (), "single")
    (alone,) = drift(RIG, controls()[:1], "single")

    assert {twin.outcome, drifted.outcome, alone.outcome} == {Outcome.INVALID}
