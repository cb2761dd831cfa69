from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import make_launch, make_slate
from tests.verdicts.nccl.evidence import (
    BLOCK,
    CUSTOM,
    nccl_rig,
    profile,
    proof,
    proof_start,
    rank,
    started,
)
from tokgate.records import Finding, Outcome, StartCause, StartFailure, Unread, VariableState, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.checks.nccl_truth import nccl_truth


def judged(rig: Rig | None = None, **changes: Any) -> Verdict:
    (verdict,) = nccl_truth(rig or nccl_rig(), proof_start(**changes))
    return verdict


def test_a_tuned_box_passes_and_says_that_nccl_is_used() -> None:
    verdict = judged()
    assert verdict.outcome is Outcome.PASS
    assert verdict.headline == (
        "NCCL block of 6 variables in 2 ranks: started with, accepted, effective, and used (122 a step on the decode path)"
    )
    assert verdict.n == 12
    assert "launches/00-nccl-proof/server.log" in verdict.raw
    assert "launches/00-nccl-proof/profile/" in verdict.raw


def test_the_first_broken_link_is_the_headline_and_the_rest_its_evidence() -> None:
    rest = {name: value for name, value in BLOCK.items() if name != "NCCL_PROTO"}
    verdict = judged(environment=started({1: {"NCCL_PROTO": None}}), nccl=proof([rank(0), rank(1, rest)]))
    assert verdict.outcome is Outcome.INVALID
    assert "NCCL_PROTO: absent from the exec environment of rank 1 only" in verdict.headline
    assert any("not accepted in rank 1 only" in line for line in verdict.evidence)
    assert "wrapper" in (verdict.do or "")


def test_erased_memory_is_invalid_and_no_absence() -> None:
    verdict = judged(environment=started({0: {"NCCL_PROTO": VariableState.ERASED}}))
    assert verdict.outcome is Outcome.INVALID
    assert "erased by setproctitle" in verdict.headline
    assert "absent from" not in verdict.headline
    assert "SPT_NOENV=1" in (verdict.do or "")


def test_accepted_but_unused_passes_loudly() -> None:
    profiles = [profile(n, nccl=(), instead=(CUSTOM,)) for n in (0, 1)]
    verdict = judged(nccl=proof(profiles=profiles))
    assert verdict.outcome is Outcome.PASS
    assert "accepted but unused" in verdict.headline
    assert "no number of this rig depends on its NCCL block" in verdict.warnings[0]
    assert "cross_device_reduce_1stage" in verdict.warnings[0]


def test_used_in_one_rank_alone_is_told_as_unused() -> None:
    profiles = [profile(0), profile(1, nccl=(), instead=(CUSTOM,))]
    assert "unused" in judged(nccl=proof(profiles=profiles)).headline


def test_an_unknown_state_is_no_pass() -> None:
    verdict = judged(nccl=proof(profiles=[], why_no_profile="no profiler: HTTP 404"))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "not profiled in every rank: no profiler: HTTP 404" in verdict.headline


def test_a_skipped_proof_promises_less_and_prints_the_reason() -> None:
    rig = nccl_rig(nccl_proof={"skip": "500 GB of weights"})
    (verdict,) = nccl_truth(rig, make_launch((), environment=started()))
    assert verdict.outcome is Outcome.PASS
    assert (
        "in the exec environment; what NCCL makes of it is not proven: 500 GB of weights" in verdict.headline
    )
    assert "no proof start was made: 500 GB of weights" in verdict.warnings[0]


def test_a_skipped_proof_hides_no_absence() -> None:
    rig = nccl_rig(nccl_proof={"skip": "500 GB of weights"})
    (verdict,) = nccl_truth(rig, make_launch((), environment=started({0: {"NCCL_ALGO": None}})))
    assert verdict.outcome is Outcome.INVALID
    assert "NCCL_ALGO: absent from the exec environment of rank 0 only" in verdict.headline


def test_a_value_that_nccl_is_known_to_ignore_contradicts_a_pass() -> None:
    block = {**BLOCK, "NCCL_BUFFSIZE": "4M"}
    ranks = [rank(n, {**BLOCK, "NCCL_BUFFSIZE": "4M"}) for n in (0, 1)]
    verdict = judged(nccl_rig(block), environment=started(block=block), nccl=proof(ranks))
    assert verdict.outcome is Outcome.INVALID
    assert "NCCL_BUFFSIZE=4M" in verdict.headline


def test_a_server_that_nccl_refused_is_invalid_with_nccls_words() -> None:
    failure = StartFailure(
        cause=StartCause.CRASHED, headline="NCCL error: invalid argument", do="read the log"
    )
    warning = Unread(line=12, text="Invalid value 'Rings' in NCCL_ALGO=Rings", why="NCCL WARN")
    verdict = judged(server=None, failure=failure, environment=None, nccl=proof([], [], warnings=(warning,)))
    assert verdict.outcome is Outcome.INVALID
    assert (
        "the server did not start: NCCL refuses: Invalid value 'Rings' in NCCL_ALGO=Rings" in verdict.headline
    )
    assert "NCCL error: invalid argument" in verdict.evidence


def test_nothing_passes_on_a_launch_that_was_not_made() -> None:
    missing = proof_start(
        server=None,
        environment=None,
        nccl=None,
        slate=None,
        faults=("this launch was not made in the stored session",),
    )
    (verdict,) = nccl_truth(nccl_rig(), missing)
    assert verdict.outcome is Outcome.INVALID
    dirty = make_slate(findings=(Finding(severity="unclean", what="GPU 3 is not empty", do="look"),))
    assert judged(slate=dirty).outcome is Outcome.INVALID
    assert judged(environment=None).outcome is Outcome.INVALID
    assert judged(server=None).outcome is Outcome.INVALID


@pytest.mark.parametrize(
    "missing",
    [{"liveness": None, "stop": None, "nccl": None}, {"nccl": None}, {"stop": None}, {"liveness": None}],
)
def test_a_proof_start_that_was_killed_is_called_unfinished(missing: dict[str, Any]) -> None:
    verdict = judged(**missing)
    assert verdict.outcome is Outcome.INVALID
    assert "the launch was never finished" in verdict.headline


def test_lines_of_somebody_else_prove_nothing() -> None:
    verdict = judged(nccl=proof([rank(0, pid=999), rank(1)]))
    assert verdict.outcome is Outcome.INCONCLUSIVE
    assert "said by no process of the server in rank 0 only: pid 999 in its log" in verdict.headline


def test_two_processes_of_the_server_that_contradict_each_other_are_no_pass() -> None:
    verdict = judged(nccl=proof([rank(0), rank(0, {**BLOCK, "NCCL_PROTO": "Simple"}, pid=102), rank(1)]))
    assert verdict.outcome is Outcome.INVALID
    assert "said differently by 2 processes in rank 0 only: pids 101, 102" in verdict.headline
