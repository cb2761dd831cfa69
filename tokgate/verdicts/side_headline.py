"""A change against its base in one sentence, the answer first: what it costs and where, then what was measured."""

from __future__ import annotations

from tokgate.records import Outcome
from tokgate.records.side import SidesMade
from tokgate.rig.models import Rig
from tokgate.stats.decision import Decision

from .decision_words import against, why
from .instrumented_words import headline as instrumented_headline
from .metrics import Metric
from .questions import SPEED
from .side_words import subject_words

_VERBS = {Outcome.REGRESSED: "costs", Outcome.IMPROVED: "gains"}


def headline(
    rig: Rig,
    decision: Decision,
    metric: Metric,
    *,
    on: str,
    needs: str | None,
    made: SidesMade | None,
    where: str | None = None,
) -> str:
    """Return the sentence. `on`: arm and workload; `where`: of a loss of speed, the phase that it lies in with its ms."""
    subject = subject_words(rig.sides)
    measured = f"{metric.words} {metric.text(decision.now)} with {subject}, {metric.bare(decision.before)} without, on {on}"
    whole = f"{measured}: {decision.change:+.1%}, {against(decision)} its base, {why(decision, needs)}"
    lies = f", {where}" if where is not None else ""
    if rig.sides is not None and rig.sides.question == "instrumented" and metric.name in SPEED:
        called = decision.outcome in _VERBS
        return instrumented_headline(decision, made, measured if called else whole, where=lies)
    verb = _VERBS.get(decision.outcome)
    if verb is None:
        return whole
    sign = 1 if decision.outcome is Outcome.REGRESSED else -1
    low, high = sorted(100 * sign * metric.loss(end) for end in decision.interval)
    size = f"{abs(decision.loss) * 100:.1f} % [{low:.1f}, {high:.1f}]"
    return f"{subject} {verb} {size}{lies}: {measured}"
