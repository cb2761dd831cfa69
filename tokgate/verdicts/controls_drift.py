"""The control runs of a session in order of time: before its other arms, after them, and whenever it was restarted."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from tokgate.records import LaunchEvidence, Verdict
from tokgate.rig.models import Rig

from .arm_restarts import Stored, stored_runs, taking
from .drifting import KNOWN, Drift, drift_among
from .establish import Established, establish_workload, invalid
from .metrics import METRICS, Metric, floor_of, throughput_metric
from .more_starts import more_starts
from .run_again import measure, with_longer_restarts, with_starts
from .run_values import values_now
from .shortfall import Shortfall

CHECK = "drift"


class Found(NamedTuple):
    drift: Drift
    metric: Metric
    runs: tuple[Established, ...]  # every control that took the workload, in order of time

    @property
    def before(self) -> Established:
        return self.runs[0]

    @property
    def after(self) -> Established:
        """The run that the drift is told by."""
        return self.runs[self.drift.at]

    @property
    def values(self) -> tuple[float, float]:
        return self.value(self.before), self.value(self.after)

    def value(self, run: Established) -> float:
        return statistics.median(run.series[self.metric.name].values)


def drift_of(
    rig: Rig,
    controls: Sequence[LaunchEvidence],
    workload: str,
    baseline_runs: Stored | None = None,
) -> Found | Verdict | None:
    """Hold the control before the other arms against every later one; None where none comes after them.

    `controls`: the control's launches among others, restarts in the order in which they were made. A control that
    cannot be judged is its `invalid`. `baseline_runs`: stored runs tell what restarts of the arm differ by.
    """
    mine = taking(controls, workload)
    before = next((one for one in mine if one.launch.role == "control"), None)
    after = next((one for one in mine if one.launch.role == "control-again"), None)
    if before is None or after is None:
        return None
    later = [one for one in mine if one.launch.role == "restart" and one.launch.arm == before.launch.arm]
    metric = speed_metric(rig, workload)
    established = []
    for launch in (before, after, *later):
        found = establish_workload(rig, launch, workload, check=CHECK)
        if isinstance(found, Verdict):
            return found
        if metric.name not in found.series:
            shortfall = Shortfall(
                what=f"{metric.name} is unknown: {found.why_missing(metric.name)}",
                do="see the raw bodies of this launch",
            )
            return invalid(CHECK, [shortfall], launch=launch, workload=workload, metric=metric.name)
        established.append(found)
    now = values_now(established, metric.name)
    stored = stored_runs((baseline_runs or {}).get(before.launch.arm, ()), metric.name, now)
    return Found(drift_among(now, floor_of(rig, metric), stored), metric, tuple(established))


def moved_between_controls(
    rig: Rig, controls: Sequence[LaunchEvidence], workload: str
) -> dict[str, float | None]:
    """Return per metric what a later control of a session may lie from the first, relative, either way; {} without a later one.

    Each by its own values: load on the host's CPUs moves first-token times, and no decode. Of speed, whose drift is a
    check of its own, as estimated; of any other number that is not seen to have stayed within its floor as far as its
    interval reaches. None: too few starts for an interval, some control does not know the number, or cannot be judged.
    A cycle, which no control has, moves as decode does.
    """
    found = drift_of(rig, controls, workload)
    if found is None:
        return {}
    if isinstance(found, Verdict):
        return dict.fromkeys(METRICS.keys() - {speed_metric(rig, workload).name})
    speed = abs(found.drift.change)
    moved: dict[str, float | None] = {}
    for metric in METRICS.values():
        values = values_now(found.runs, metric.name)
        if metric.name == found.metric.name or not values:
            moved[metric.name] = speed
        elif len(values) < len(found.runs):
            moved[metric.name] = None
        else:
            moved[metric.name] = _at_most(drift_among(values, floor_of(rig, metric)))
    return moved


def _at_most(drift: Drift) -> float | None:
    if drift.interval is None:
        return None
    return abs(drift.change) if drift.state == "none" else max(abs(end) for end in drift.interval)


def speed_metric(rig: Rig, workload: str) -> Metric:
    """Return what speed means for a workload; of one that the rig does not know, which nothing can be judged of, too."""
    return throughput_metric(next((w.concurrency for w in rig.workloads if w.name == workload), 1))


def drift_words(found: Found) -> str:
    drift, metric = found.drift, found.metric
    last = found.after.launch.launch
    told = f"control {metric.bare(found.values[0])} before, {metric.text(found.values[1])} after"
    if last.role == "restart":
        told += f" ({last.id})"
    if drift.state == "unsure":
        return f"drift not excluded: {told}, {_unsure_words(drift)}"
    words = f"the machine drifted by {drift.change:+.1%}" if drift.state == "drifted" else "no drift"
    return f"{words}: {told} ({drift.change:+.1%}, {drift.why})"


def _unsure_words(drift: Drift) -> str:
    """Return the change beside what is allowed, rounded so that what is larger reads as larger."""
    if drift.interval is None:
        return f"{drift.change:+.1%}; {drift.why}"
    most = max(drift.interval, key=abs)
    allowed = max(drift.floor, drift.restarts) if drift.known else drift.floor
    if drift.lacks_restarts:
        change, floor, restarts = _apart(drift.change, drift.floor, drift.restarts)
        return (
            f"{change}: more than the {floor} that is allowed, and two server starts may differ by {restarts}: "
            "which of the two it is cannot be told yet"
        )
    change, reach, limit = _apart(drift.change, most, allowed)
    return (
        f"{change}, and by the spread of its values up to {reach}: {limit} either way is allowed, so it cannot be told "
        "whether that is exceeded"
    )


def _apart(change: float, *others: float) -> tuple[str, ...]:
    """Return a change and what stands beside it in per cent, with as many decimals as keep different sizes different."""
    sizes = sorted({abs(value) for value in (change, *others)})
    decimals = next(
        (d for d in (1, 2) if len({f"{size:.{d}%}" for size in sizes}) == len(sizes)),
        3,
    )
    signed = [f"{change:+.{decimals}%}"]
    return (
        *signed,
        *(f"{value:+.{decimals}%}" if value < 0 else f"{value:.{decimals}%}" for value in others),
    )


def run_words(found: Found) -> str:
    """Return every control with its value, in order of time."""
    told = ", ".join(f"{run.launch.launch.id} {found.metric.bare(found.value(run))}" for run in found.runs)
    return f"controls in order of time: {told} {found.metric.unit}"


def drift_needs(rig: Rig, drift: Drift, arm: str, workload: str) -> str | None:
    """Return "3 more restarts of baseline" or "2 more generations of single"; None where neither is what is missing."""
    if drift.lacks_restarts:
        return _many(KNOWN - drift.seen, f"more restart{{s}} of {arm}")
    lacking = more_starts(rig, drift.lacks_starts, workload)
    return f"{lacking} in every run" if lacking is not None else None


def drift_do(rig: Rig, drift: Drift, workload: str) -> str | None:
    if drift.state == "drifted":
        return "no number of this session stands for the machine: look at clocks, heat and other load, measure again"
    if drift.state == "none":
        return None
    if drift.lacks_restarts:
        more = _many(KNOWN - drift.seen, "more time{s}")
        return (
            f"have the control started {more}, the session does so where it has the time: {with_longer_restarts(rig)}; "
            "a stored baseline of several runs tells as well how far its starts differ"
        )
    if drift.lacks_starts:
        least = min(drift.comparison.n_a, drift.comparison.n_b) + drift.lacks_starts
        return f"take more of {workload} in every launch: {with_starts(rig, workload, least)}"
    return f"find what else runs on the machine, then measure again: {measure(rig)}"


def restarts_words(drift: Drift) -> str:
    if drift.known and drift.sd is not None:
        return (
            f"the control was started again {drift.seen} times, and its starts differ by {drift.sd:.2%} (standard deviation): "
            f"up to {drift.restarts:.1%} between two of them is taken for a restart, not for a drift"
        )
    seen = (
        "no restart of the control is known"
        if not drift.seen
        else f"only {_many(drift.seen, 'restart{s}')} of the control {'is' if drift.seen == 1 else 'are'} known"
    )
    return (
        f"{seen}, {KNOWN} tell how far its starts differ: until then up to {drift.restarts:.1%} between two of them may be "
        "a restart, the most that starts of any server were seen to differ by"
    )


def _many(number: int, what: str) -> str:
    return f"{number} {what.format(s='' if number == 1 else 's')}"
