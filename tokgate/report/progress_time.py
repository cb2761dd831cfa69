"""When a session is likely to be over: by its plan, and by what its own launches have taken so far."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tokgate.records.progress import PlannedLaunch, SessionPlan


class Reckoned(NamedTuple):
    """`ends_at`: seconds of the clock; `ends_by`: the latest, where only a range is known; `share`: of it all behind."""

    ends_at: float | None = None
    ends_by: float | None = None
    share: float | None = None


@dataclass(frozen=True, kw_only=True)
class Course:
    """How a session went so far. Times are seconds of one monotonic clock."""

    plan: SessionPlan
    began: Mapping[str, float]
    ended: Mapping[str, float | None]  # launch -> how long it took, in order; None: it broke off
    not_started: Collection[str]
    asked: Mapping[str, float] | None  # restarts and their seconds; None: nothing was decided yet

    def reckon(self, now: float) -> Reckoned:
        """Return nothing where nothing is known of a launch that is still to come."""
        if not self.plan.launches or self._last() in self.not_started:
            return Reckoned()  # what kept one from starting keeps those that follow
        least, most, whole = [], [], []
        for launch in self.plan.launches:
            span = self._span(launch)
            if span is None:
                return Reckoned()
            whole.append(math.fsum(span) / 2)
            if launch.launch not in self.ended:
                least.append(self._left(launch.launch, span[0], now))
                most.append(self._left(launch.launch, span[1], now))
        for name, seconds in self._restarts().items():
            whole.append(seconds)
            if name not in self.ended:
                least.append(self._left(name, seconds, now))
                most.append(least[-1])
        low, high, total = math.fsum(least), math.fsum(most), math.fsum(whole)
        share = max(0.0, 1.0 - (low + high) / 2 / total) if total > 0 else None
        return Reckoned(now + low, now + high if high > low else None, share)

    def _last(self) -> str | None:
        return next(reversed(list(self.ended)), None)

    def _restarts(self) -> Mapping[str, float]:
        if self.asked is None and self.plan.restarts is not None:
            return {"those in any case": self.plan.restarts.least_s}
        return self.asked or {}

    def _left(self, launch: str, seconds: float, now: float) -> float:
        return max(0.0, seconds - (now - self.began.get(launch, now)))

    def _span(self, launch: PlannedLaunch) -> tuple[float, float] | None:
        """Return what a launch takes: as planned, by what launches of this session have taken, else by what is usual."""
        if launch.seconds.likely is not None:
            return launch.seconds.likely, launch.seconds.likely
        known = {one.launch: one for one in self.plan.launches}
        ended = [
            (known[name], took)
            for name, took in self.ended.items()
            if name in known and took is not None and name not in self.not_started
        ]
        around = [took - one.taking_s for one, took in ended if one.taking_s is not None]
        if launch.taking_s is not None and around:
            likely = launch.taking_s + max(0.0, statistics.median(around))
            return likely, likely
        alike = [took for one, took in ended if bool(one.work) == bool(launch.work)]
        if alike:
            return statistics.median(alike), statistics.median(alike)
        return None if launch.seconds.limit is None else (launch.seconds.low, launch.seconds.high)
