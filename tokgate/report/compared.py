"""What a comparison of two runs comes to, in one sentence; nothing here is escaped yet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.stats.decompose import CYCLE, REST
from tokgate.verdicts.metrics import METRICS
from tokgate.verdicts.split import Split

from . import figures, split_cells
from .comparison import Comparison
from .phase_change import PhaseMoved, PhasesMoved

_NAMES = {REST: "the rest of the cycle", CYCLE: "the cycle"}
SPEED_FLOOR, PHASE_FLOOR = (METRICS[name].relative_floor for name in ("decode_tok_s", "verify_ms"))
_PART = 0.5  # of a change: what makes up less of it alone is not named


def conclusion(found: Comparison) -> str:
    """Return "B against A: eagle3-2step single -7.4 % tok/s, mostly verify (-6.2 %); no change beyond 3 % shown of …".

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
        told = [p for p in one.phases if _told(p)]
        if told:
            words = ", ".join(f"{p.phase} {figures.percent(p.change)}" for p in told)
            doubt = "" if all(p.shown for p in told) else ", without an interval"
            yield f"{one.arm} {one.workload} {words} a call{doubt}, tok/s not timed"


def _not_shown(found: Comparison) -> Iterator[str]:
    still = [f"{one.arm} {one.workload}" for one in found.changes if not _moved(one)]
    still += [f"{p.arm} {p.workload} (phases)" for p in found.phases if not any(_told(m) for m in p.phases)]
    if still:
        yield f"no change beyond {SPEED_FLOOR * 100:g} % shown of {', '.join(still)}"


def _moved(one: Split) -> bool:
    beyond = one.interval is not None and not one.interval[0] <= 0 <= one.interval[1]
    return beyond and abs(one.change) >= SPEED_FLOOR


def _told(phase: PhaseMoved) -> bool:
    return (phase.shown or phase.interval is None) and abs(phase.change) >= PHASE_FLOOR


def _mostly(one: Split) -> str:
    whole = one.split.whole if one.split is not None else None
    if one.split is None or whole is None or not whole.log:
        return ""
    share = max(one.split.shares, key=lambda s: s.log / whole.log)
    if share.log / whole.log < _PART:
        return ""
    return f", mostly {_NAMES.get(share.name, share.name)} ({split_cells.part(share.log)} %)"
