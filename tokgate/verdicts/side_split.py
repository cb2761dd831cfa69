"""Where a change costs: its cycle and its phases beside those of its base, in milliseconds a cycle."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tokgate.records import LaunchEvidence
from tokgate.records.side import BASE, HEAD
from tokgate.rig.models import Rig
from tokgate.stats.log_shares import ACCEPTANCE, CYCLE, REST, Share

from .cycle_side import side_of_timed, with_phases
from .establish import Established
from .large_shares import large_shares, moved_shares
from .metrics import METRICS, floor_of
from .phases_of_change import tells_phases
from .split import Split, split_change

_NAMES = {REST: "the rest of the cycle"}
_SMALL_MS = 0.1  # below it, a hundredth of a millisecond is too coarse


def split_of_sides(
    rig: Rig, heads: Sequence[Established], bases: Sequence[Established], carried: Sequence[LaunchEvidence]
) -> Split | None:
    """Return what the change of decode tok/s is made of; None of an arm that does not speculate, or where it is not known.

    `carried`: launches of the arm with instruments, of both sides.
    """
    launch, workload = heads[0].launch.launch, heads[0].workload
    sides = []
    for name, good in ((BASE, bases), (HEAD, heads)):
        mine = [one for one in carried if one.launch.side == name]
        if any("decode_tok_s" not in one.series for one in good):
            return None
        sides.append(with_phases(rig, side_of_timed(name, good), "", mine, workload))
    if not all(side.speculates for side in sides):
        return None
    floor = floor_of(rig, METRICS["decode_tok_s"])
    found = split_change(launch.arm, workload, *sides, floor=floor, kind="side")
    return found if isinstance(found, Split) and found.split is not None else None


def where(change: Split) -> str | None:
    """Return where a loss lies in a few words, "verify +0.13 ms of the +0.13 ms a cycle"; None where nothing stands out."""
    whole = change.split.whole if change.split is not None else None
    if whole is None or whole.log >= 0:
        return None
    told = moved_shares(change) if large_shares(change) else []
    parts = [_acceptance(share) for share in told if share.name == ACCEPTANCE]
    grown = [share for share in told if share.name != ACCEPTANCE]
    if grown and (cycle := _cycle(change)) is not None:
        all_of_it = _ms(cycle[1] - cycle[0])
        if grown[0].name == CYCLE:
            parts.append(f"the cycle {all_of_it} ms")
        else:
            named = ", ".join(f"{_NAMES.get(s.name, s.name)} {_grown(s)}" for s in grown)
            parts.append(f"{named} ms of the {all_of_it} ms a cycle")
    return " and ".join(parts) or None


def phases_named(change: Split | None) -> str | None:
    """Return the names of the phases that a loss lies in, "verify"; None where no phase is known or none stands out."""
    if change is None or change.source is None:
        return None
    grown = [s for s in large_shares(change) if s.name != ACCEPTANCE]
    return " and ".join(_NAMES.get(s.name, s.name) for s in grown) or None


def whole_cycle(rig: Rig, change: Split) -> str:
    """Return the line of evidence that a reader of a loss wants first: the cycle on both sides, phase by phase."""
    cycle, split = _cycle(change), change.split
    if cycle is None or split is None:
        return f"the change cannot be split: {split.why if split is not None else 'nothing speculates'}"
    told = f"cycle {cycle[1]:.2f} ms, base {cycle[0]:.2f}"
    lengths = next(s for s in split.shares if s.name == ACCEPTANCE)
    accepted = _acceptance(lengths)
    if change.source is None:
        why = (change.why_no_phases or "no phases are known").removesuffix(" (-m verify)")
        if rig.instruments.skip is not None:
            why = f"no launch carries instruments, since {rig.instruments.skip}"
        elif not tells_phases(rig, change.arm, change.workload):
            why = f"[instruments] of the rig leave {change.workload} out"
        return f"{told}; {accepted}; which phase of it is not known: {why}"
    phases = ", ".join(f"{s.name} {_grown(s)}" for s in split.shares if s.name != ACCEPTANCE)
    return f"{told}: {phases} ms; {accepted}; phases by {change.source}, {change.clock} clock"


def _cycle(change: Split) -> tuple[float, float] | None:
    """Return the milliseconds of a cycle, base and head."""
    parts = [s for s in change.split.shares if s.name != ACCEPTANCE] if change.split is not None else []
    if not parts or any(s.before is None or s.after is None for s in parts):
        return None
    return math.fsum(s.before or 0.0 for s in parts), math.fsum(s.after or 0.0 for s in parts)


def _acceptance(share: Share) -> str:
    if share.before is None or share.after is None:
        return "accept length unknown"
    return f"accept length {share.after:.2f}, base {share.before:.2f}"


def _grown(share: Share) -> str:
    if share.before is None or share.after is None:
        return "by an unknown time"
    return _ms(share.after - share.before)


def _ms(grown: float) -> str:
    told = f"{grown:+.2f}" if abs(grown) >= _SMALL_MS else f"{grown:+.3f}"
    return "0" if not float(told) else told
