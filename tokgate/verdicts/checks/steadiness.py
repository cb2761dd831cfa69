"""Promises: a launch was warm and steady, and the machine did not drift under the session."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import LaunchEvidence, Outcome, Reference, Verdict
from tokgate.rig.models import Rig
from tokgate.stats.compare import p_words
from tokgate.stats.steady import NEEDED_FOR_TREND, Steadiness, steadiness_of
from tokgate.verdicts.change import judge_change
from tokgate.verdicts.establish import Established, establish_workload, invalid
from tokgate.verdicts.metrics import METRICS, Metric, floor_of, floor_text, throughput_metric
from tokgate.verdicts.shortfall import Shortfall

CHECK = "steadiness"
DRIFT = "drift"
SPREAD = 0.05  # robust CV; a quiet CPU shows 0.01, a busy one 0.2, one GPU 0.001-0.02


def steadiness(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Judge one launch: its warm-up is over, it shows no trend, its spread is within the limit.

    An eagle3 arm is judged by its cycle time: prompts differ in acceptance, so its tok/s may
    spread without any unsteadiness of the machine. Everything found is `inconclusive`: the
    numbers are true, but what they say of the next run is not known.
    """
    established = establish_workload(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    concurrency = rig.workload(workload).concurrency
    speculative = rig.arm(launch.launch.arm).kind == "eagle3"
    metric = METRICS["cycle_ms"] if speculative else throughput_metric(concurrency)
    series = established.series.get(metric.name)
    if series is None or len(series.values) < 2:
        what = established.why_missing(metric.name) if series is None else "one value has no spread"
        shortfall = Shortfall(
            what=f"steadiness of {metric.name} unknown: {what}",
            do=f"set repeats of {workload} to {NEEDED_FOR_TREND} or more",
        )
        return (invalid(CHECK, [shortfall], launch=launch, workload=workload, metric=metric.name),)
    found = steadiness_of(series.values)
    floor = floor_of(rig, metric)
    limit = max(SPREAD, floor.relative)
    problems = _problems(found, floor.relative, limit, workload)
    words, do = problems[0] if problems else (f"steady, spread {found.robust_cv:.1%}", None)
    trend = (
        f"{found.trend:+.1%} ({p_words(found.trend_p)})"
        if found.trend is not None and found.trend_p is not None
        else "too few values"
    )
    return (
        Verdict(
            check=CHECK,
            outcome=Outcome.INCONCLUSIVE if problems else Outcome.PASS,
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
                *(text for text, _ in problems[1:]),
                "in order: " + ", ".join(metric.bare(v) for v in series.values),
            ),
            warnings=(*series.warnings, *found.warnings),
            do=do,
            raw=established.raw,
        ),
    )


def _problems(found: Steadiness, floor: float, limit: float, workload: str) -> list[tuple[str, str | None]]:
    problems: list[tuple[str, str | None]] = []
    if found.trend is None:
        problems.append(
            (
                f"n={found.n} cannot show a trend, needs {NEEDED_FOR_TREND - found.n} more",
                f"set repeats of {workload} to {NEEDED_FOR_TREND} or more",
            )
        )
    if found.trending(floor) and found.trend is not None:
        problems.append(
            (
                f"still moving, {found.trend:+.1%} from first to last",
                f"raise warmup of {workload}, and look at clocks, heat and the machine's other load",
            )
        )
    if found.still_warming(floor):
        problems.append(
            (f"the first value is {found.first:+.1%} off the others", f"raise warmup of {workload} by one")
        )
    if found.robust_cv > limit:
        problems.append(
            (
                f"spread {found.robust_cv:.1%}, more than {limit:.1%}",
                "find what else runs on the machine; then measure again",
            )
        )
    return problems


def drift(rig: Rig, controls: Sequence[LaunchEvidence], workload: str) -> tuple[Verdict, ...]:
    """Compare the control before the other arms with the control after them.

    A change beyond the floors, either way, is `inconclusive`: which of the two controls tells the
    truth is not known. Without a second control it is `invalid`: nothing was bracketed.
    """
    metric = throughput_metric(_concurrency(rig, workload))
    if len(controls) != 2 or len({c.launch.id for c in controls}) != 2:
        shortfall = Shortfall(
            what=f"drift takes two controls, there are {len({c.launch.id for c in controls})}",
            do="run the whole session: the control is measured again at its end",
        )
        return (invalid(DRIFT, [shortfall], workload=workload, metric=metric.name),)
    control, control_again = controls
    before = _values(rig, control, workload, metric)
    if isinstance(before, Verdict):
        return (before,)
    after = _values(rig, control_again, workload, metric)
    if isinstance(after, Verdict):
        return (after,)
    floor = floor_of(rig, metric)
    now, then = after.series[metric.name].values, before.series[metric.name].values
    change = judge_change(now, then, metric, floor)
    moved = change.outcome in (Outcome.REGRESSED, Outcome.IMPROVED)
    # A gain that is not excluded is as bad here as a loss: look at the other end as well.
    other_end = judge_change(then, now, metric, floor)
    quiet = Outcome.PASS is change.outcome is other_end.outcome
    told = f"control {metric.bare(change.reference)} before, {metric.text(other_end.reference)} after"
    by = f"{change.change:+.1%}"
    words = f"the machine drifted by {by}" if moved else "no drift" if quiet else f"drift not excluded, {by}"
    told += f" ({by}, less than a floor)" if quiet else ""
    return (
        Verdict(
            check=DRIFT,
            outcome=Outcome.PASS if quiet else Outcome.INCONCLUSIVE,
            headline=f"{words}: {told}",
            arm=control.launch.arm,
            launch=control_again.launch.id,
            workload=workload,
            metric=metric.name,
            value=other_end.reference,
            unit=metric.unit,
            n=change.comparison.n_a,
            interval=change.interval,
            reference=Reference(
                kind="twin", label=control.launch.id, value=change.reference, n=change.comparison.n_b
            ),
            change=change.change,
            floor=floor_text(floor, metric),
            evidence=(f"{p_words(change.comparison.p)}, {change.why}",),
            warnings=change.comparison.warnings,
            do=None
            if quiet
            else (
                "no claim smaller than the drift holds: look at clocks, heat and other load, measure again"
                if moved
                else change.do or other_end.do or "raise repeats"
            ),
            raw=(*before.raw, *after.raw),
        ),
    )


def _values(rig: Rig, launch: LaunchEvidence, workload: str, metric: Metric) -> Established | Verdict:
    established = establish_workload(rig, launch, workload, check=DRIFT)
    if isinstance(established, Verdict) or metric.name in established.series:
        return established
    shortfall = Shortfall(
        what=f"{metric.name} is unknown: {established.why_missing(metric.name)}",
        do="see the raw bodies of this launch",
    )
    return invalid(DRIFT, [shortfall], launch=launch, workload=workload, metric=metric.name)


def _concurrency(rig: Rig, workload: str) -> int:
    return next((w.concurrency for w in rig.workloads if w.name == workload), 1)
