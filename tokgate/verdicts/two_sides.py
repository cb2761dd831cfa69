"""Two sides of one session, compared as twins, as a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from tokgate.records import Outcome, Reference, Verdict
from tokgate.stats.decision import Decision

from .arm_runs import raw_of
from .establish import Established
from .metrics import Metric
from .run_values import values_now


def of_two_sides(
    check: str,
    decision: Decision,
    metric: Metric,
    runs: Sequence[Established],
    others: Sequence[Established],
    *,
    label: str,
    headline: str,
    kind: Literal["twin", "side"] = "twin",
) -> Verdict:
    """Return what was measured of both sides, a pass from which nothing is concluded yet (concluded.py does).

    `runs` are what is judged, `others` what they are compared with, whom `label` names; `kind`: of the reference.
    """
    launch = runs[0].launch.launch
    return Verdict(
        check=check,
        outcome=Outcome.PASS,
        headline=headline,
        arm=launch.arm,
        launch=launch.id,
        launches=tuple(run.launch.launch.id for run in runs),
        workload=runs[0].workload,
        metric=metric.name,
        value=decision.now,
        unit=metric.unit,
        n=decision.starts_now,
        interval=decision.interval,
        reference=Reference(
            kind=kind,
            label=label,
            value=decision.before,
            n=sum(len(run.values) for run in values_now(others, metric.name)),
        ),
        change=decision.change,
        raw=(*raw_of(runs), *raw_of(others)),
    )
