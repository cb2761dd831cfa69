"""What a comparison of two runs comes to, in one sentence; nothing here is escaped yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.records import Outcome
from tokgate.stats.log_shares import CYCLE, REST
from tokgate.verdicts.decision_words import seen
from tokgate.verdicts.metrics import METRICS
from tokgate.verdicts.split import Split

from . import figures, split_cells
from .comparison import Comparison
from .phase_change import Moved, PhaseMoved, PhasesMoved

_NAMES = {REST: "the rest of the cycle", CYCLE: "the cycle"}
SPEED_FLOOR, PHASE_FLOOR = (METRICS[name].relative_floor for name in ("decode_tok_s", "verify_ms"))
_PART = 0.5  # of a change: what makes up less of it alone is not named


def conclusion(found: Comparison) -> str:
    """Return "B against A: eagle3-2step single -7.4 % tok/s, mostly verify (-6.2 %); no change beyond 2 % shown of …".

    A change that is established and below the floor that verdicts have by default is no answer: restarts differ by it.
    """
    parts = [*_shown(found.changes), *_phases(found.phases), *_not_shown(found)]
    if not parts:
        return "B against A: not one number of the two could be compared"
    doubt = ", of different settings" if found.settings else ""
    return f"B against A{doubt}: {'; '.join(parts)}"


def _shown(changes: Sequence[Split]) -> Iterator[str]:
    for one in changes:
        if _moved(one):
            yield f"{one.arm} {one.workload} {figures.percent(one.change)} tok/s{_mostly(one)}"


def _phases(found: Sequence[PhasesMoved]) -> Iterator[str]:
    for one in found:
        told = [words for p in one.phases if (words := _phase(p)) is not None]
        if told:
            yield f"{one.arm} {one.workload} {', '.join(told)}, tok/s not timed"


def _phase(phase: PhaseMoved) -> str | None:
    """Return "verify +20.0 % a call", by the mean where the middle call stayed; None where nothing is told to have moved."""
    if _told(phase):
        doubt = "" if phase.shown else ", without an interval"
        return f"{phase.phase} {figures.percent(phase.change)} a call{doubt}"
    if phase.mean is not None and _told(phase.mean):
        middle = figures.percent(phase.change)
        return f"{phase.phase} {figures.percent(phase.mean.change)} a call in the mean, {middle} in the middle one"
    return None


def _not_shown(found: Comparison) -> Iterator[str]:
    still = [f"{one.arm} {one.workload}{_power(one)}" for one in found.changes if not _moved(one)]
    still += [
        f"{p.arm} {p.workload} (phases)" for p in found.phases if all(_phase(m) is None for m in p.phases)
    ]
    if still:
        yield f"no change beyond {SPEED_FLOOR * 100:g} % shown of {', '.join(still)}"


def _power(one: Split) -> str:
    """Say what could have been seen: no change shown is no absence of one."""
    if one.decision is None:
        return ""
    if one.decision.outcome is Outcome.INCONCLUSIVE:
        return f" (a loss of {one.decision.high:.1%} is not excluded)"
    return f" ({seen(one.decision)})"


def _moved(one: Split) -> bool:
    beyond = one.interval is not None and not one.interval[0] <= 0 <= one.interval[1]
    return beyond and abs(one.change) >= SPEED_FLOOR


def _told(phase: Moved) -> bool:
    return (phase.shown or phase.interval is None) and abs(phase.change) >= PHASE_FLOOR


def _mostly(one: Split) -> str:
    whole = one.split.whole if one.split is not None else None
    if one.split is None or whole is None or not whole.log:
        return ""
    share = max(one.split.shares, key=lambda s: s.log / whole.log)
    if share.log / whole.log < _PART:
        return ""
    return f", mostly {_NAMES.get(share.name, share.name)} ({split_cells.part(share.log)} %)"
