"""Promises: a launch was warm and steady, and the machine did not drift under the session."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import LaunchEvidence, Outcome, Reference, Verdict
from tokgate.rig.models import Rig
from tokgate.stats.compare import p_words
from tokgate.stats.steady import NEEDED_FOR_TREND
from tokgate.verdicts.arm_restarts import Stored
from tokgate.verdicts.controls_drift import CHECK as DRIFT
from tokgate.verdicts.controls_drift import (
    drift_do,
    drift_needs,
    drift_of,
    drift_words,
    restarts_words,
    run_words,
    speed_metric,
)
from tokgate.verdicts.drifting import KNOWN
from tokgate.verdicts.establish import establish_workload, invalid
from tokgate.verdicts.metrics import floor_of, floor_text
from tokgate.verdicts.more_starts import more_starts
from tokgate.verdicts.run_again import with_starts
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.unsteady import SPREAD, consistent_with, lone_first, steady_metric, unsteady

CHECK = "steadiness"
_OUTCOMES = {"none": Outcome.PASS, "drifted": Outcome.INVALID, "unsure": Outcome.INCONCLUSIVE}


def steadiness(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Judge one launch: its warm-up is over, it shows no trend, its spread is within the limit.

    A trend or a first value beyond the floor, established, is `invalid`, and so is whatever else is judged from that
    window. Too few values to tell, or a wide spread, is `inconclusive`: the numbers are true, but what they say of the
    next run is not known.
    """
    established = establish_workload(rig, launch, workload, check=CHECK, whole=False)
    if isinstance(established, Verdict):
        return (established,)
    metric = steady_metric(rig, launch.launch.arm, workload)
    judged = unsteady(rig, launch, workload, established.series)
    series = established.series.get(metric.name)
    if judged is None or series is None:
        what = established.why_missing(metric.name) if series is None else "one value has no spread"
        shortfall = Shortfall(
            what=f"steadiness of {metric.name} unknown: {what}",
            do=f"take {NEEDED_FOR_TREND} or more of {workload} in every launch: {with_starts(rig, workload, NEEDED_FOR_TREND)}",
        )
        return (invalid(CHECK, [shortfall], launch=launch, workload=workload, metric=metric.name),)
    found = judged.steadiness
    floor = floor_of(rig, metric)
    limit = max(SPREAD, floor.relative)
    problems = (*judged.established, *judged.doubts)
    words = problems[0].what if problems else f"steady, spread {found.robust_cv:.1%}"
    trend = (
        f"{found.trend:+.1%} ({p_words(found.trend_p)})"
        if found.trend is not None and found.trend_p is not None
        else "too few values"
    )
    return (
        Verdict(
            check=CHECK,
            outcome=Outcome.INVALID
            if judged.established
            else Outcome.INCONCLUSIVE
            if judged.doubts
            else Outcome.PASS,
            headline=f"{metric.words} {metric.text(found.median)} on {launch.launch.id}: {words}",
            arm=launch.launch.arm,
            launch=launch.launch.id,
            workload=workload,
            metric=metric.name,
            value=found.median,
            unit=metric.unit,
            n=found.n,
            floor=f"trend and first value {floor.relative:.1%}, spread {limit:.1%}",
            evidence=(
                f"spread {found.robust_cv:.2%}, trend {trend}, first value {found.first:+.1%} off the others",
                *(problem.what for problem in problems[1:]),
                "in order: " + ", ".join(metric.bare(v) for v in series.values),
                *((consistent_with(judged.busy),) if judged.busy is not None and problems else ()),
            ),
            warnings=(*series.warnings, *found.warnings, *lone_first(found, floor.relative)),
            needs=more_starts(rig, judged.lacks_starts, workload),
            do=problems[0].do if problems else None,
            raw=established.raw,
        ),
    )


def drift(
    rig: Rig, controls: Sequence[LaunchEvidence], workload: str, baseline_runs: Stored | None = None
) -> tuple[Verdict, ...]:
    """Hold the control before the other arms against the control after them, and against every restart of it.

    A change beyond the floors and beyond what restarts of the control differ by, either way, is `invalid`: which of the
    two tells the truth is not known. What restarts differ by is known from those of this session and from what is
    stored. Where too few are, `wanted` asks for them. Without a second control it is `invalid`: nothing was bracketed.
    """
    metric = speed_metric(rig, workload)
    found = drift_of(rig, controls, workload, baseline_runs)
    if isinstance(found, Verdict):
        return (found,)
    if found is None:
        shortfall = Shortfall(
            what=f"drift takes two controls, there are {len({c.launch.id for c in controls})}",
            do="run the whole session: the control is measured again at its end",
        )
        return (invalid(DRIFT, [shortfall], workload=workload, metric=metric.name),)
    moved, before, after = found.drift, found.before, found.after
    arm = after.launch.launch.arm
    floor = floor_of(rig, metric)
    return (
        Verdict(
            check=DRIFT,
            outcome=_OUTCOMES[moved.state],
            headline=drift_words(found),
            arm=arm,
            launch=after.launch.launch.id,
            launches=tuple(run.launch.launch.id for run in found.runs),
            workload=workload,
            metric=metric.name,
            value=found.values[1],
            unit=metric.unit,
            n=moved.comparison.n_a,
            interval=moved.interval,
            reference=Reference(
                kind="twin",
                label=before.launch.launch.id,
                value=found.values[0],
                n=moved.comparison.n_b,
            ),
            change=moved.change,
            floor=f"{floor_text(floor, metric)}, and {moved.restarts:.1%} where a restart lies between",
            needs=drift_needs(rig, moved, arm, workload),
            wanted={arm: KNOWN - moved.seen} if moved.lacks_restarts else {},
            evidence=(f"{p_words(moved.comparison.p)}, {moved.why}", restarts_words(moved), run_words(found)),
            warnings=moved.comparison.warnings,
            do=drift_do(rig, moved, workload),
            raw=tuple(path for run in found.runs for path in run.raw),
        ),
    )
