"""Did the machine move between the control before the other arms and the control after them.

Two server runs differ by their restart as well. So a drift is one that exceeds the floor and what restarts of this arm
are known to differ by: from its stored runs and from this session's further restarts. Where fewer than KNOWN restarts
have been seen they are given as much as restarts of any server were seen to differ by, and what lies between that and
the floor cannot be told from them: more restarts would.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Literal, NamedTuple

from scipy import special

from tokgate.rig.limits import Floor
from tokgate.stats.bounds import WIDEST
from tokgate.stats.compare import Comparison, compare
from tokgate.stats.levels import RunValues
from tokgate.stats.modes import known_spread, restarts_of

LEVEL = 0.01  # two-sided, of two restarts that differ as restarts are known to
KNOWN = 3  # restarts beyond the first of their session
# Sixteen streams with EAGLE-3 on one H200: 1.9 % between server starts. Nothing but two modes was seen to differ by more.
UNKNOWN_SD = 0.02
_LACKING = "a drift, or nothing but two restarts: too few restarts of this arm are known"


class Drift(NamedTuple):
    state: Literal["none", "drifted", "unsure"]
    change: float  # relative, of the control after against the one before
    interval: tuple[float, float] | None  # from the starts of the two runs alone
    comparison: Comparison
    floor: float  # relative, the larger of both floors
    restarts: float  # two restarts differ by no more than this, at LEVEL
    sd: float | None  # between restarts, as far as seen
    seen: int  # restarts that tell it
    why: str
    lacks_restarts: bool  # unsure only because too few of them are known

    @property
    def known(self) -> bool:
        return self.seen >= KNOWN


def drift_between(
    before: Sequence[float], after: Sequence[float], floor: Floor, history: Sequence[RunValues] = ()
) -> Drift:
    """Compare two runs, one value a start each. `history`: other runs of the arm, none of these two."""
    compared = compare(after, before)
    change = compared.ratio - 1
    level = max(floor.relative, floor.absolute / statistics.median(before))
    told = restarts_of(history, floor=floor.relative) if history else None
    seen, sd = (told.seen, told.sd) if told is not None else (0, None)
    if seen >= KNOWN:
        variance, df = known_spread(history, floor=floor.relative)
        reach = float(special.stdtrit(float(df), 1 - LEVEL / 2)) * math.sqrt(2 * float(variance))
    else:
        reach = float(special.ndtri(1 - LEVEL / 2)) * math.sqrt(2) * UNKNOWN_SD
    restarts = math.expm1(min(reach, WIDEST))
    state, why = _state(compared, level, restarts, known=seen >= KNOWN)
    interval = None if compared.interval is None else (compared.interval[0] - 1, compared.interval[1] - 1)
    return Drift(state, change, interval, compared, level, restarts, sd, seen, why, why is _LACKING)


def _state(
    compared: Comparison, floor: float, restarts: float, *, known: bool
) -> tuple[Literal["none", "drifted", "unsure"], str]:
    if compared.interval is None:
        return "unsure", f"n={compared.n_a}+{compared.n_b} is too few for an interval"
    low, high = (math.log(end) for end in compared.interval)
    inner = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
    outer = max(abs(low), abs(high))
    if outer <= math.log1p(floor):
        return "none", "less than a floor"
    if known and outer <= math.log1p(restarts):
        return "none", "no more than restarts of this arm differ by"
    if inner > math.log1p(max(floor, restarts)):
        beyond = (
            "restarts of this arm differ by" if known else "restarts of any server were seen to differ by"
        )
        return "drifted", f"more than {beyond}"
    if inner > math.log1p(floor) and not known:
        return "unsure", _LACKING
    return "unsure", "the starts spread too wide to tell"
