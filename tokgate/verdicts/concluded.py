"""A measured value and a decision on it, together as a verdict; the caller adds the words of the headline."""

from __future__ import annotations

from tokgate.records import Outcome, Verdict
from tokgate.rig.models import Rig
from tokgate.stats.decision import Decision

from .decision_words import evidence_of, warnings_of
from .metrics import Metric
from .needs import needs_of, settling, wanted_of
from .run_values import Asked


def concluded(
    rig: Rig,
    decision: Decision,
    asked: Asked,
    metric: Metric,
    *,
    measured: Verdict,
    look: str,
    instruments: bool = False,
    twin: str | None = None,
    limit: float | None = None,
) -> Verdict:
    """Return the measured value's verdict with what a decision on it says, but for the words of its headline.

    `look`: what to look at where it is a loss. `twin`: the arm of this session on the other side, if any. `limit`: the
    speed-up over it that is asked for, if that is what was decided.
    """
    arm = measured.arm or ""
    needs = needs_of(decision.wants, decision.most, arm=arm, twin=twin, instruments=instruments)
    do = None
    if decision.outcome is Outcome.REGRESSED:
        do = look
    elif decision.outcome is Outcome.INCONCLUSIVE:
        do = settling(rig, decision, needs)
    return measured.model_copy(
        update={
            "outcome": decision.outcome,
            "smallest": decision.smallest,
            "level": asked.share.level,
            "needs": needs,
            "wanted": wanted_of(decision.wants, arm=arm, twin=twin, instruments=instruments),
            "evidence": (*measured.evidence, *evidence_of(decision, asked, metric, limit=limit)),
            "warnings": (*measured.warnings, *warnings_of(decision, asked)),
            "do": do,
        }
    )


def value_interval(decision: Decision) -> tuple[float, float]:
    """Return the interval of the value itself, in its unit."""
    low, high = decision.interval
    return (decision.before * (1 + low), decision.before * (1 + high))
