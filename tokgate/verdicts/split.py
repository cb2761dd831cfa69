"""A change of tok/s between two sides, split into acceptance, draft, verify, extend and rest.

Speed, accept length and cycle come from timed launches. What a phase is of the cycle comes from the launch that
carried instruments, as a part of that launch's own cycle, so that nothing of its speed is taken for the arm's.
"""

from __future__ import annotations

import math
import statistics
from typing import Literal

from pydantic import Field

from tokgate.records.phases import PhaseSource
from tokgate.records.record import Record
from tokgate.rig.limits import Floor
from tokgate.stats.cycles import Cycles, OfCycle
from tokgate.stats.decision import Decision
from tokgate.stats.decompose import decompose
from tokgate.stats.log_shares import Decomposition

from .break_even import decoded_a_cycle
from .cycle_side import Side
from .launch_phases import SOURCES
from .phase_parts import PhaseParts, parts_of
from .pulled_in import pulled_in, pulled_words
from .split_doubts import TWO_MIDDLES, arithmetic, doubts, flat, off, single
from .told_change import change_of


class BySource(Record):
    """The same change with what another source tells of the phases."""

    source: PhaseSource
    clock: Literal["gpu", "wall", "host"]
    split: Decomposition


class Split(Record):
    """How an arm's decode rate changed under one workload, measured, and what that is made of."""

    arm: str
    workload: str
    before: str = Field(description="the run, or the stored baseline, that is compared with")
    after: str
    tok_s: tuple[float, float] = Field(
        description="before and after: the mean over sessions of server runs, each the median of its timed starts"
    )
    n: tuple[int, int] = Field(description="timed starts, before and after")
    change: float = Field(description="of decode tok/s, relative: -0.074 is 7.4 % less")
    interval: tuple[float, float] | None = Field(
        description="of `change`, 95 %: by server runs and sessions, not by starts"
    )
    decision: Decision | None = Field(
        None,
        description="the change by the rule for stored baselines, alone: with no other comparison, look or restart to "
        "share its chance of a false alarm with",
    )
    split: Decomposition | None = Field(
        description="of means, in log shares that sum to the whole; null without speculation"
    )
    source: PhaseSource | None = Field(
        None,
        description="what told of the phases on both sides; null: acceptance and cycle alone are told apart",
    )
    clock: Literal["gpu", "wall", "host"] | None = None
    spread: PhaseSource | None = Field(
        None, description="what told how a phase differs between starts; null: no phase has an interval"
    )
    why_no_phases: str | None = None
    others: tuple[BySource, ...] = Field(
        (), description="by the other sources of phases that both sides have"
    )
    warnings: tuple[str, ...] = ()


def split_change(
    arm: str,
    workload: str,
    before: Side,
    after: Side,
    *,
    floor: Floor | None = None,
    kind: Literal["side", "stored"] = "stored",
) -> Split | str:
    """Compare two sides of one arm and workload; a text says why they cannot be compared.

    `floor`: the rig's own for decode tok/s; the table's by default. `kind`: what `before` is (told_change.py).
    """
    for side in (before, after):
        if not side.decode_tok_s:
            return f"no decode rate is known of {side.label}"
        if not all(math.isfinite(v) and v > 0 for v in side.decode_tok_s):
            return f"a decode rate of {side.label} is none"
    if before.speculates != after.speculates:
        only = after if after.speculates else before
        return f"only {only.label} has accept lengths and cycles: the other does no speculation"
    found = change_of(before, after, floor, kind)
    common, why = _common(before, after) if before.speculates else ((), None)
    parts = common[0] if common else None
    whole = _decomposed(before, after, parts) if before.speculates else None
    apart: tuple[str, ...] = ()
    if whole is not None:
        # A start that met something else moves the means of the shares, and not the medians of the change.
        calm = (pulled_in(before), pulled_in(after))
        closer, ratio = _decomposed(*calm, parts), 1 + found.change
        by = off(whole, ratio, before, after)
        if (by > TWO_MIDDLES or kind == "side") and off(closer, ratio, *calm) <= by:
            if by > TWO_MIDDLES:
                apart = tuple(w for side in (before, after) for w in pulled_words(side))
            (before, after), whole = calm, closer
    warnings = [*before.warnings, *after.warnings, *found.notes, *apart]
    if parts is not None:
        warnings += [w for side, told in zip((before, after), parts, strict=True) for w in doubts(side, told)]
    warnings += single(before, after)
    if whole is not None:
        warnings += [*whole.warnings, *arithmetic(whole, 1 + found.change, before, after)]
    return Split(
        arm=arm,
        workload=workload,
        before=before.label,
        after=after.label,
        tok_s=(found.before, found.now),
        n=(len(before.decode_tok_s), len(after.decode_tok_s)),
        change=found.change,
        interval=found.interval,
        decision=found,
        split=whole,
        source=parts[0].source if parts is not None else None,
        clock=parts[0].clock if parts is not None else None,
        spread=parts[0].spread if parts is not None and parts[1].spread is not None else None,
        why_no_phases=why,
        others=tuple(
            BySource(source=more[0].source, clock=more[0].clock, split=_decomposed(before, after, more))
            for more in common[1:]
        ),
        warnings=tuple(dict.fromkeys(warnings)),
    )


_Both = tuple[PhaseParts, PhaseParts]


def _common(before: Side, after: Side) -> tuple[tuple[_Both, ...], str | None]:
    """Return both sides' phases by each source that both have, or why there is none: two are never mixed.

    A GPU's own clock comes first: what a call takes on a host has the host's load in it.
    """
    for side in (before, after):
        if not side.phases:
            return (), f"no phases of {side.label}: {side.why_no_phases or 'none are known'}"
    why = f"no source of phases is the same in {before.label} and {after.label}"
    found: list[_Both] = []
    for source in SOURCES:
        mine, theirs = parts_of(before.phases, source), parts_of(after.phases, source)
        if mine is None or theirs is None:
            continue
        if mine.clock == theirs.clock:
            found.append((mine, theirs))
        else:
            why = f"{source} reads the {mine.clock} clock in {before.label}, the {theirs.clock} clock in {after.label}"
    found.sort(key=lambda both: both[0].clock != "gpu")
    return tuple(found), None if found else why


def _decomposed(before: Side, after: Side, parts: _Both | None) -> Decomposition:
    """Split by means; the whole's two rates have the first token taken off, as measured ones have."""
    places = [_by_place(side) for side in (before, after)]
    paired = len(places[0]) == len(places[1]) > 0
    sides = []
    for side, by_place, told in zip((before, after), places, parts or (None, None), strict=True):
        pairs = by_place if paired else flat(side)
        sides.append(
            Cycles(
                accept_length=tuple(length for length, _ in pairs),
                cycle_ms=tuple(cycle for _, cycle in pairs),
                phases={p: OfCycle(parts=v) for p, v in told.parts.items()} if told is not None else {},
            )
        )
    found = decompose(*sides, paired=paired)
    if found.whole is None:
        return found
    rates = [
        rate if rate is None or side.tokens is None else decoded_a_cycle(rate, side.tokens)
        for rate, side in ((found.whole.before, before), (found.whole.after, after))
    ]
    whole = found.whole.model_copy(update={"before": rates[0], "after": rates[1]})
    return found.model_copy(update={"whole": whole})


def _by_place(side: Side) -> list[tuple[float, float]]:
    """Return accept length and cycle by place in a server run, of several their means; none where they differ in length.

    Places are prompts. Where they are not (another seed, other warm-ups), pairs of what has nothing to do with each
    other are no sharper than two series, and no less true.
    """
    if len({len(one) for one in (*side.accept_length, *side.cycle_ms)}) != 1:
        return []
    lengths, cycles = (
        [statistics.fmean(at_place) for at_place in zip(*runs, strict=True)]
        for runs in (side.accept_length, side.cycle_ms)
    )
    return list(zip(lengths, cycles, strict=True))
