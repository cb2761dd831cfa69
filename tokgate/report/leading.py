"""Which verdict is told first: worst first; of equals what the others follow from, of kept ones the answer."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import PRECEDENCE, Outcome, Verdict

DRIFT = "drift"
TWIN, BASELINE, TUNING = "speculation_beats_its_twin", "stored_baseline", "nccl_tuning"
PATCH = "patch"
CULPRIT = "culprit"
# What a session was run for, in the order of its questions.
ANSWERS = (CULPRIT, PATCH, TWIN, BASELINE, "sweep", "nccl_truth", TUNING)
# What must hold for any number to count, once a launch and workload: nobody asked for it, everybody relies on it.
ROUTINE = ("environment_truth", "steadiness", "cache_state", "client_headroom")
# Judged on two launches or more: where one of those is invalid, so is the comparison.
_COMPARISONS = (CULPRIT, PATCH, TWIN, "lossless", DRIFT, BASELINE, "sweep")
# Judged on the window itself: what it leaves open is open in every comparison as well.
_WINDOW = (DRIFT, "steadiness")


def worst_first(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Sort by precedence, then causes before what follows from them; equals keep their order."""
    return tuple(sorted(verdicts, key=lambda v: (PRECEDENCE.index(v.outcome), _rank(v, verdicts))))


def of_the_change(verdicts: Sequence[Verdict]) -> bool:
    """Say whether a change to SGLang decides, the verdicts standing worst first: then its own next step comes before that of any cause.

    Its base ran beside it on the same machine, so what the machine may have had against either is no explanation.
    """
    lead = verdicts[0] if verdicts else None
    return (
        lead is not None
        and lead.check in (PATCH, CULPRIT)
        and lead.outcome in (Outcome.REGRESSED, Outcome.INVALID, Outcome.INCONCLUSIVE)
    )


def drift_behind(verdict: Verdict, verdicts: Sequence[Verdict]) -> Verdict | None:
    """Return the drift that alone could explain a change: of the same workload and at least as large."""
    if verdict.change is None or verdict.check in (DRIFT, PATCH, CULPRIT):
        return None
    for drift in verdicts:
        moved = drift.check == DRIFT and drift.outcome is Outcome.INCONCLUSIVE and drift.change is not None
        if moved and drift.workload == verdict.workload and abs(drift.change or 0) >= abs(verdict.change):
            return drift
    return None


def _rank(verdict: Verdict, verdicts: Sequence[Verdict]) -> int:
    if verdict.outcome is Outcome.INVALID:
        if verdict.check in (PATCH, CULPRIT):
            return -1  # whose fault it is that a side does not start is known there
        # A drift that has a size is a cause, one that could not be measured follows from a launch that is invalid.
        measured = verdict.check == DRIFT and verdict.value is not None
        return int(verdict.check in _COMPARISONS and not measured)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        return _WINDOW.index(verdict.check) if verdict.check in _WINDOW else len(_WINDOW)
    if verdict.outcome is Outcome.REGRESSED:
        if verdict.check == CULPRIT:
            return -2  # it names the part of the change, which says more than that the change costs
        if verdict.check == PATCH:
            return (
                -1
            )  # its base ran right beside it: a drift does not explain it, and nothing about it is stale
        if drift_behind(verdict, verdicts) is not None:
            return 3
        # The twin ran in this session, so nothing about it is stale; a bare limit says that a number is low,
        # the stored baseline of the same number also what has changed since it was higher.
        return 0 if verdict.check == TWIN else 2 if _told_by_a_baseline(verdict, verdicts) else 1
    return _rank_of_kept(verdict) if verdict.outcome in (Outcome.PASS, Outcome.IMPROVED) else 0


def _rank_of_kept(verdict: Verdict) -> int:
    if verdict.check in ANSWERS:
        # The two numbers that a comparison compared are no answer.
        side = verdict.check == TUNING and verdict.change is None
        return len(ANSWERS) if side else ANSWERS.index(verdict.check)
    return len(ANSWERS) + int(verdict.check in ROUTINE)


def _told_by_a_baseline(verdict: Verdict, verdicts: Sequence[Verdict]) -> bool:
    if verdict.reference is None or verdict.reference.kind != "budget":
        return False
    return any(
        v.check == BASELINE
        and v.outcome is Outcome.REGRESSED
        and (v.launch, v.workload, v.metric) == (verdict.launch, verdict.workload, verdict.metric)
        for v in verdicts
    )
