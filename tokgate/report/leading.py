"""Which verdict is told first: worst first, and of equals what the others follow from."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import PRECEDENCE, Outcome, Verdict

DRIFT = "drift"
_TWIN, _BASELINE = "speculation_beats_its_twin", "stored_baseline"
# Judged on two launches or more: where one of those is invalid, so is the comparison.
_COMPARISONS = (_TWIN, "lossless", DRIFT, _BASELINE)
# Judged on the window itself: what it leaves open is open in every comparison as well.
_WINDOW = (DRIFT, "steadiness")


def worst_first(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Sort by precedence, then causes before what follows from them; equals keep their order."""
    return tuple(sorted(verdicts, key=lambda v: (PRECEDENCE.index(v.outcome), _rank(v, verdicts))))


def drift_behind(verdict: Verdict, verdicts: Sequence[Verdict]) -> Verdict | None:
    """Return the drift that alone could explain a change: of the same workload and at least as large."""
    if verdict.change is None or verdict.check == DRIFT:
        return None
    for drift in verdicts:
        moved = drift.check == DRIFT and drift.outcome is Outcome.INCONCLUSIVE and drift.change is not None
        if moved and drift.workload == verdict.workload and abs(drift.change or 0) >= abs(verdict.change):
            return drift
    return None


def _rank(verdict: Verdict, verdicts: Sequence[Verdict]) -> int:
    if verdict.outcome is Outcome.INVALID:
        return int(verdict.check in _COMPARISONS)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        return _WINDOW.index(verdict.check) if verdict.check in _WINDOW else len(_WINDOW)
    if verdict.outcome is Outcome.REGRESSED:
        if drift_behind(verdict, verdicts) is not None:
            return 3
        # The twin ran in this session, so nothing about it is stale; a bare limit says that a number is low,
        # the stored baseline of the same number also what has changed since it was higher.
        return 0 if verdict.check == _TWIN else 2 if _told_by_a_baseline(verdict, verdicts) else 1
    return 0


def _told_by_a_baseline(verdict: Verdict, verdicts: Sequence[Verdict]) -> bool:
    if verdict.reference is None or verdict.reference.kind != "budget":
        return False
    return any(
        v.check == _BASELINE
        and v.outcome is Outcome.REGRESSED
        and (v.launch, v.workload, v.metric) == (verdict.launch, verdict.workload, verdict.metric)
        for v in verdicts
    )
