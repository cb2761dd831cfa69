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
from .metrics import METRICS
from .phase_parts import PhaseParts, parts_of
from .told_change import change_of

# Beyond what one server run differs from the next, the cycle with instruments is not the timed one.
APART = METRICS["cycle_ms"].relative_floor
# Medians of starts and means of starts may differ by an outlier's weight; more is worth a word.
TWO_MIDDLES = 0.005


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
    warnings = [*before.warnings, *after.warnings, *found.notes]
    if parts is not None:
        warnings += [
            w for side, told in zip((before, after), parts, strict=True) for w in _doubts(side, told)
        ]
    warnings += _single(before, after)
    if whole is not None:
        warnings += [*whole.warnings, *_arithmetic(whole, 1 + found.change, before, after)]
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
        pairs = by_place if paired else _flat(side)
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


def _flat(side: Side) -> list[tuple[float, float]]:
    lengths, cycles = ([v for one in runs for v in one] for runs in (side.accept_length, side.cycle_ms))
    return list(zip(lengths, cycles, strict=False))  # a start without one of the two is in neither series


def _doubts(side: Side, told: PhaseParts) -> list[str]:
    timed = statistics.fmean(cycle for _, cycle in _flat(side))
    carried = statistics.fmean(told.cycle_ms)
    found = [f"{side.label}: a doubt about its phases: {w}" for one in side.phases for w in one.warnings]
    if abs(carried / timed - 1) > APART:
        found.append(
            f"{side.label}: the cycle with instruments took {carried:.2f} ms, the timed one {timed:.2f} ms "
            f"({carried / timed - 1:+.1%}, beyond {APART:.0%}): what its phases are parts of is another cycle"
        )
    return found


def _single(before: Side, after: Side) -> list[str]:
    alone = [side.label for side in (before, after) if side.launches == 1]
    if not alone:
        return []
    return [
        f"one server run of {' and of '.join(alone)}: the intervals of the shares do not hold the spread between restarts"
    ]


def _arithmetic(whole: Decomposition, ratio: float, before: Side, after: Side) -> list[str]:
    if whole.whole is None:
        return []
    found, told = [], whole.whole.log
    if (
        before.tokens
        and after.tokens
        and before.tokens != after.tokens
        and min(before.tokens, after.tokens) > 1
    ):
        first = math.log((1 - 1 / after.tokens) / (1 - 1 / before.tokens))
        told += first
        found.append(
            f"answers of {before.tokens} and of {after.tokens} tokens: the first token of each is prefill's, which "
            f"moves tok/s by {first:+.1%} (log) and is in no share"
        )
    if abs(told - math.log(ratio)) > TWO_MIDDLES:
        found.append(
            f"the shares are of means and sum to {math.expm1(told):+.1%}; the measured change is that of medians"
        )
    return found
