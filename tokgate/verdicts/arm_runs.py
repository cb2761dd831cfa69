"""The server runs of one arm in one session: what a verdict on the arm takes from all of them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

from tokgate.records import Generation, LaunchEvidence
from tokgate.stats.decision import Rule
from tokgate.stats.levels import RunValues
from tokgate.stats.sides import back, scaled

from .establish import Established
from .metrics import Metric

# One launch is an arm of one server run.
Launches = LaunchEvidence | Sequence[LaunchEvidence]
# Metric -> stored server runs of the same configuration: they tell how much its runs differ, never how fast it is.
History = Mapping[str, Sequence[RunValues]]


def all_of(launches: Launches) -> tuple[LaunchEvidence, ...]:
    """Return the launches of an arm, in the order given."""
    return (launches,) if isinstance(launches, LaunchEvidence) else tuple(launches)


def subject_of(runs: Sequence[Established]) -> str:
    """Return what a headline calls them: the arm, or the launch where the second control stands alone."""
    first = runs[0].launch.launch
    return first.id if len(runs) == 1 and first.role == "control-again" else first.arm


def good_of(runs: Sequence[Established]) -> tuple[Generation, ...]:
    return tuple(g for run in runs for g in run.good)


def raw_of(runs: Sequence[Established]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for run in runs for path in run.raw))


def middle(values: Sequence[RunValues], rule: Rule) -> float:
    """Return the value of an arm: the mean over its runs, on the metric's scale, of the median over their starts."""
    return back(
        statistics.fmean(statistics.median(scaled(v, rule) for v in run.values) for run in values), rule
    )


def ratio_middle(runs: Sequence[Established], metric: str) -> float:
    """Return the same of a metric that is compared as a ratio."""
    return math.exp(
        statistics.fmean(statistics.median(math.log(v) for v in run.series[metric].values) for run in runs)
    )


def run_by_run(values: Sequence[RunValues], metric: Metric) -> tuple[str, ...]:
    """Return a line with each run's own value; of a single run there is nothing to tell."""
    if len(values) < 2:
        return ()
    told = ", ".join(f"{run.launch} {metric.bare(statistics.median(run.values))}" for run in values)
    return (f"server run by server run: {told} {metric.unit}",)


def warnings_of(runs: Sequence[Established], metric: str) -> tuple[str, ...]:
    """Return the warnings of every run's series, each with its launch where there are several runs."""
    told = [(run, text) for run in runs for text in run.series[metric].warnings]
    if len(runs) == 1:
        return tuple(text for _, text in told)
    return tuple(f"{run.launch.launch.id}: {text}" for run, text in told)
