"""What the loss of a change takes to be called, beyond the plan: known before anything starts, but for how runs turn out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from tokgate.records import Launch
from tokgate.records.progress import PlannedLaunch
from tokgate.records.side import BASE
from tokgate.rig.models import Rig
from tokgate.rig.restart_budget import restart_budget_s
from tokgate.stats.confirm import AGREE, against_side
from tokgate.verdicts.subjects import on_side, subject_of

_STEP_S = 60


def describe_confirming(rig: Rig, launches: Sequence[Launch], made: Sequence[PlannedLaunch]) -> Iterator[str]:
    """Yield how many server runs of each side a loss of speed is called on, and whether the time for restarts holds them."""
    whole = against_side((1, 1), (), timed=True).in_all
    arms = dict.fromkeys(launch.arm for launch in launches if launch.role == "side")
    if whole is None or not arms:
        return
    more = max(whole.now, whole.before)
    told = (
        f"a loss of speed is called on {AGREE} to {1 + more} server runs of each side, on the fewer where stored sessions or other arms show "
        f"that restarts agree: up to {more} more of head and base of each arm that loses"
    )
    seconds = {
        subject_of(launch): one.seconds.likely or one.seconds.low
        for launch, one in zip(launches, made, strict=True)
    }
    # A control that was planned closes each round of restarts: one run of each side, then the rest.
    if rig.control.name in seconds:
        told += ", and the control behind each round"
    closing = 2 * seconds.get(rig.control.name, 0.0)
    dearest = max(
        more * (seconds.get(arm, 0.0) + seconds.get(on_side(arm, BASE), 0.0)) + closing for arm in arms
    )
    budget = restart_budget_s(rig)
    if rig.sampling.gpu_time_s and dearest > budget:
        needed = _STEP_S * math.ceil(rig.sampling.gpu_time_s * dearest / budget / _STEP_S)
        told += f"; the {budget:.0f} s for restarts do not hold that for one arm: --rig-set sampling.gpu_time_s={needed}"
    yield told
