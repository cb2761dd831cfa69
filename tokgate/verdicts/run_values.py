"""What a session measured of an arm as values of server runs, and what it asks of a comparison: for stats/decide.py.

The stored side is ledger.run_values.
"""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.stats.decision import Rule
from tokgate.stats.levels import RunValues

from .establish import Established
from .family import Kind, Share, chance, share_of
from .looks import look_of
from .metrics import Metric, floor_of, stored_floor_of

COUNTS = frozenset(("accept_length",))  # what a drafter gets right is the same in either mode of a server
NOW = "this session"  # beside run ids: a baseline may hold the very run that is judged


class Asked(Record):
    """What a comparison is asked, and what it was given of the session's chance of a false alarm."""

    rule: Rule
    share: Share

    def at(self, level: float) -> Asked:
        """Return the same, given more than its share by comparisons that have been called."""
        if level <= self.share.level:
            return self
        words = f"{chance(level)}, its own {chance(self.share.level)} and what was handed on by metrics already called"
        return Asked(
            rule=self.rule.model_copy(update={"level": level}),
            share=self.share.model_copy(update={"words": words}),
        )


def values_now(established: Sequence[Established], metric: str) -> tuple[RunValues, ...]:
    """Return one entry a server run of this session that knows the metric, one value a barrier start.

    The value of a start is the median of its streams.
    """
    return tuple(
        RunValues(session=NOW, launch=one.launch.launch.id, values=one.series[metric].values)
        for one in established
        if metric in one.series
    )


def asked_of(
    rig: Rig,
    kind: Kind,
    metric: Metric,
    workload: str,
    established: Sequence[Established],
    *,
    same_configuration: bool = True,
) -> Asked:
    """Return the rule of a comparison: floors and direction of the metric, error rates of the rig's [sampling].

    `established`: all runs of this session that it uses, of both sides; they tell which look at them this is.
    """
    sampling = rig.sampling
    floor = stored_floor_of(rig, metric) if kind == "stored" else floor_of(rig, metric)
    share = share_of(rig, kind, metric, workload, false_alarm=sampling.false_alarm)
    rule = Rule(
        higher_is_better=metric.better == "higher",
        ratio=metric.scale == "ratio",
        relative=floor.relative,
        absolute=floor.absolute,
        level=share.level,
        miss=1 - sampling.power,
        look=look_of(one.launch for one in established),
        confirm=sampling.gpu_time_s > 0,
        timed=metric.name not in COUNTS,
        same_configuration=same_configuration,
    )
    return Asked(rule=rule, share=share)
