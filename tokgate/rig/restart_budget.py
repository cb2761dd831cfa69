"""How long the restarts of a session may take."""

from __future__ import annotations

from .models import Rig

_SIDES = 2


def restart_budget_s(rig: Rig) -> float:
    """Return the seconds of `sampling.gpu_time_s`; where a change is held against its base, so much for each side.

    Every restart of the one is then one of the other as well, and a loss takes three runs of each.
    """
    change = rig.sides is not None and rig.sides.question != "culprit"
    return rig.sampling.gpu_time_s * (_SIDES if change else 1)
