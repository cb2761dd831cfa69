"""A window that was not steady: its warm-up was not over, or the numbers moved while they were taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tokgate.records import LaunchEvidence
from tokgate.rig.models import Rig
from tokgate.stats.steady import NEEDED_FOR_TREND, Steadiness, steadiness_of

from .host_load import busy_while
from .metrics import METRICS, Metric, floor_of, throughput_metric
from .run_again import measure, with_starts, with_warm_up
from .series import Series, series_of
from .shortfall import Shortfall

NO_TREND = "cannot show a trend"
SPREAD = 0.05  # robust CV; a quiet CPU shows 0.01, a busy one 0.2, one GPU 0.001-0.02


class Found(NamedTuple):
    steadiness: Steadiness
    established: tuple[Shortfall, ...]  # makes the window worthless
    doubts: tuple[Shortfall, ...]  # too few values, or too wide a spread, to tell
    busy: str | None = None  # how busy the host was meanwhile, where it was at work all over

    @property
    def lacks_starts(self) -> int:
        """How many more starts it takes until a trend could be seen; 0 where what there is settles it."""
        return 0 if self.established else max(0, NEEDED_FOR_TREND - self.steadiness.n)


def lone_first(found: Steadiness, floor: float) -> tuple[str, ...]:
    """Say that a first value lies off the others, though what is made of them all hardly moves."""
    if not found.first_off(floor) or found.still_warming(floor):
        return ()
    told = (
        f"the first value is {found.first:+.1%} off the others; of {found.n} it moves their mean by "
        f"{found.first / found.n:+.2%}, less than the floor ({floor:.1%})"
    )
    return (told,)


def warm_up_do(workload: str) -> str:
    """Return the next step of a first value that lies off, where only one launch was looked at."""
    return (
        f"raise warmup of {workload} by one if its other launches begin so too; if none does, look at load and clocks "
        "of the machine at that time, and measure again"
    )


def steady_metric(rig: Rig, arm: str, workload: str) -> Metric:
    """Return what the machine's own pace is told by: of a speculating arm the cycle, else what speed means.

    Prompts differ in acceptance, so an arm's tok/s may spread without any unsteadiness of the machine.
    """
    if rig.arm(arm).kind == "eagle3":
        return METRICS["cycle_ms"]
    return throughput_metric(rig.workload(workload).concurrency)


def moves(values: Sequence[float], floor: float) -> bool:
    """Say whether values in order of time, one a start, surely show a trend or a warm-up that was not over."""
    if len(values) < 2:
        return False
    found = steadiness_of(values)
    return found.trending(floor) or found.still_warming(floor)


def begins_off(rig: Rig, launch: LaunchEvidence, workload: str) -> bool | None:
    """Say whether the first value of a workload surely lies off the others of its launch; None: too little is known."""
    good = tuple(g for g in launch.generations if g.workload == workload and g.good and not g.warmup)
    metric = steady_metric(rig, launch.launch.arm, workload)
    mine = series_of(good)[0].get(metric.name) if good else None
    if mine is None or len(mine.values) < 2:
        return None
    return steadiness_of(mine.values).first_off(floor_of(rig, metric).relative)


def unsteady(rig: Rig, launch: LaunchEvidence, workload: str, series: Mapping[str, Series]) -> Found | None:
    """Judge one workload of one launch; None where its metric is unknown or a single value."""
    metric = steady_metric(rig, launch.launch.arm, workload)
    mine = series.get(metric.name)
    if mine is None or len(mine.values) < 2:
        return None
    found = steadiness_of(mine.values)
    floor = floor_of(rig, metric).relative
    told: tuple[str, ...] = (
        f"{metric.words} in order: " + ", ".join(metric.bare(v) for v in mine.values) + f" {metric.unit}",
    )
    busy = busy_while(launch, workload)
    if busy is not None:
        told = (*told, consistent_with(busy))
    established = (_beside(busy, one) for one in _established(found, floor, workload, told))
    doubts = (_beside(busy, one) for one in _doubts(rig, found, floor, workload))
    return Found(found, tuple(established), tuple(doubts), busy)


def consistent_with(busy: str) -> str:
    """Return what a busy host may have to do with a window that moved."""
    return f"{busy}: consistent with other work on the host, which nothing here tells apart from the server's own"


def _beside(busy: str | None, one: Shortfall) -> Shortfall:
    """Begin with the host where it was busy: nothing measured beside that is worth a longer warm-up."""
    if busy is None or NO_TREND in one.what:
        return one
    return one.model_copy(
        update={"do": f"look first at what else runs on the host ({busy}): top -b -n 1; {one.do}"}
    )


def _established(found: Steadiness, floor: float, workload: str, told: tuple[str, ...]) -> list[Shortfall]:
    shortfalls = []
    if found.trending(floor) and found.trend is not None:
        shortfalls.append(
            Shortfall(
                what=f"{workload} was still moving, {found.trend:+.1%} from first to last",
                do=f"raise warmup of {workload}, and look at clocks, heat and the machine's other load",
                evidence=told,
            )
        )
    if found.still_warming(floor):
        shortfalls.append(
            Shortfall(
                what=f"the warm-up of {workload} was not over: the first value is {found.first:+.1%} off the others",
                do=warm_up_do(workload),
                evidence=told,
            )
        )
    return shortfalls


def _doubts(rig: Rig, found: Steadiness, floor: float, workload: str) -> list[Shortfall]:
    doubts = []
    if found.trend is None:
        doubts.append(
            Shortfall(
                what=f"n={found.n} {NO_TREND}, needs {NEEDED_FOR_TREND - found.n} more",
                do=f"take {NEEDED_FOR_TREND} or more of {workload} in every launch: "
                f"{with_starts(rig, workload, NEEDED_FOR_TREND)}",
            )
        )
        if found.may_be_warming(floor) and not found.first_off(floor):
            doubts.append(
                Shortfall(
                    what=f"the first value is {found.first:+.1%} off the others, too few to tell whether by chance",
                    do=f"warm up once more before {workload}: {with_warm_up(rig, workload)}",
                )
            )
    limit = max(SPREAD, floor)
    if found.robust_cv > limit:
        doubts.append(
            Shortfall(
                what=f"spread {found.robust_cv:.1%}, more than {limit:.1%}",
                do=f"find what else runs on the machine, then measure again: {measure(rig)}",
            )
        )
    return doubts
