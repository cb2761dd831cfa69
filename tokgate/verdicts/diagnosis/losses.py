"""What was lost, and in which part of a cycle: against the stored baseline, without one against the limits of the rig."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from tokgate.records.phases import Phase
from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.stats.log_shares import ACCEPTANCE, CYCLE, REST
from tokgate.verdicts.baselines.file import BaselineFile
from tokgate.verdicts.break_even import break_even
from tokgate.verdicts.cycle_side import Side, side_of_baseline
from tokgate.verdicts.launch_phases import SOURCES
from tokgate.verdicts.phase_parts import parts_of
from tokgate.verdicts.split import split_change

PASS, VERIFY, DRAFT, EXTEND = "pass", "verify", "draft", "extend"
LIMITS = "the limits of the rig"
BESIDE = "its base, in this session"  # of a change: what a machine has it has on both sides
# Without a baseline nothing tells what the rest of a cycle should be; it is named where this much of tok/s is missing
# that no limit explains: rigs set floors and ceilings 3 to 10 % beside the good day.
ALONE, BESIDE_ANOTHER = 0.03, 0.1
Place = tuple[str, str]  # arm and workload


class Part(Record):
    """One part of a loss in logarithms of tok/s, below 0 for a loss. `before` and `after` are ms, or tokens."""

    name: str
    log: float
    interval: tuple[float, float] | None = None
    before: float | None = None
    after: float | None = None

    @property
    def lost(self) -> bool:
        """Whether a loss is established; where nothing tells the spread, whether there is one."""
        return self.log < 0 and (self.interval is None or self.interval[1] < 0)


class Loss(Record):
    """The change of one arm and workload; `log` and parts are of decode tok/s. A gain is above 0."""

    arm: str
    workload: str
    against: str
    log: float
    parts: tuple[Part, ...]

    def part(self, name: str) -> Part | None:
        return next((p for p in self.parts if p.name == name), None)

    @property
    def beside(self) -> bool:
        """Whether both sides ran on one machine in one session, so that nothing of the machine explains it."""
        return self.against == BESIDE


def loss_of(rig: Rig, sides: Mapping[Place, Side], place: Place, stored: BaselineFile | None) -> Loss | None:
    """Return what became of one place; None where nothing says what it should have been.

    Limits are no measurement: what they leave between the good day and themselves is no part of a loss.
    """
    side = sides.get(place)
    if side is None:
        return None
    if stored is not None and (found := _since(stored, side, place)) is not None:
        return found
    if not side.speculates:
        return _below_its_floor(rig, side, place)
    twins = [s for (arm, workload), s in sides.items() if arm == rig.control.name and workload == place[1]]
    return _beyond_limits(rig, side, twins[0] if twins else None, place)


def beside_its_base(base: Side, head: Side, place: Place, measured: float | None) -> Loss | None:
    """Return what a change makes of one place. `measured`: the change of its speed by its verdict, as the whole is told.

    The shares are of means and the verdict's change is that of medians: they are told as parts of the latter.
    """
    loss = _changed(base, head, place, BESIDE, kind="side")
    if loss is None or measured is None or measured <= -1 or loss.log * math.log1p(measured) <= 0:
        return loss
    factor = math.log1p(measured) / loss.log
    return loss.model_copy(
        update={"log": loss.log * factor, "parts": tuple(_times(part, factor) for part in loss.parts)}
    )


def _times(part: Part, factor: float) -> Part:
    interval = None if part.interval is None else (part.interval[0] * factor, part.interval[1] * factor)
    return part.model_copy(update={"log": part.log * factor, "interval": interval})


def _since(stored: BaselineFile, side: Side, place: Place) -> Loss | None:
    return _changed(side_of_baseline(stored), side, place, stored.name, kind="stored")


def _changed(
    before: Side, after: Side, place: Place, against: str, *, kind: Literal["side", "stored"]
) -> Loss | None:
    change = split_change(*place, before, after, kind=kind)
    if isinstance(change, str):
        return None
    if change.split is not None and change.split.whole is not None:
        parts = tuple(
            Part(name=s.name, log=s.log, interval=s.interval, before=s.before, after=s.after)
            for s in change.split.shares
        )
        return Loss(arm=place[0], workload=place[1], against=against, log=change.split.whole.log, parts=parts)
    log = math.log1p(change.change)
    low, high = change.interval or (None, None)
    interval = None if low is None or high is None else (math.log1p(low), math.log1p(high))
    mine, theirs = (1e3 / rate for rate in change.tok_s)
    only = Part(name=PASS, log=log, interval=interval, before=mine, after=theirs)
    return Loss(arm=place[0], workload=place[1], against=against, log=log, parts=(only,))


def _below_its_floor(rig: Rig, side: Side, place: Place) -> Loss | None:
    limit = max(_limits(rig, "decode_tok_s", place, "at_least"), default=None)
    if limit is None:
        return None
    rate = statistics.median(side.decode_tok_s)
    log = min(0.0, math.log(rate / limit))
    part = Part(name=PASS, log=log, before=1e3 / limit, after=1e3 / rate)
    return Loss(arm=place[0], workload=place[1], against=LIMITS, log=log, parts=(part,))


def _beyond_limits(rig: Rig, side: Side, twin: Side | None, place: Place) -> Loss:
    """Split what misses break-even and the floor on tok/s: what is beyond a limit of its own, and what is left."""
    length = statistics.fmean(v for one in side.accept_length for v in one)
    cycle = statistics.fmean(v for one in side.cycle_ms for v in one)
    whole = [0.0]
    if twin is not None and side.tokens and side.tokens > 1:
        even = break_even(
            accept_length=length,
            tokens=side.tokens,
            decode_ms=1e3 / statistics.median(twin.decode_tok_s),
            cycle_ms=cycle,
        )
        whole.append(math.log(even.limit_ms / cycle))
    rate = statistics.median(side.decode_tok_s)
    whole += [math.log(rate / limit) for limit in _limits(rig, "decode_tok_s", place, "at_least")]
    floors, ceilings = (
        _limits(rig, "accept_length", place, "at_least"),
        _limits(rig, "verify_ms", place, "at_most"),
    )
    parts: list[Part] = []
    if floors:
        least = max(floors)
        parts.append(
            Part(name=ACCEPTANCE, log=min(0.0, math.log(length / least)), before=least, after=length)
        )
    phases = _phases_ms(side, cycle)
    if ceilings and Phase.VERIFY in phases:
        most, verify = min(ceilings), phases[Phase.VERIFY]
        beyond = max(0.0, verify - most)
        log = math.log((cycle - beyond) / cycle) if beyond < cycle else 0.0
        parts.append(Part(name=VERIFY, log=log, before=min(verify, most), after=verify))
    log = min(*whole, math.fsum(p.log for p in parts))
    left = log - math.fsum(p.log for p in parts)
    # Limits lie below the good day: what is left may be the room that a part beyond its own limit had until there.
    room = BESIDE_ANOTHER if any(p.log < 0 for p in parts) else ALONE
    if left < math.log1p(-room):
        parts += _what_is_left(left, phases, cycle, judged={p.name for p in parts})
    return Loss(arm=place[0], workload=place[1], against=LIMITS, log=log, parts=tuple(parts))


def _what_is_left(
    left: float, phases: Mapping[Phase, float], cycle: float, judged: set[str]
) -> Iterator[Part]:
    """Yield the loss that no limit of its own explains: of the rest of the cycle where verify keeps its limit."""
    if VERIFY not in judged or not phases:
        yield Part(name=CYCLE, log=left, after=cycle)
        return
    mine = {
        DRAFT: phases.get(Phase.DRAFT, 0.0),
        EXTEND: phases.get(Phase.DRAFT_EXTEND, 0.0),
        REST: cycle - math.fsum(phases.values()),
    }
    # Nothing tells how long each should be: what is left is shared as their times are.
    total = math.fsum(max(0.0, v) for v in mine.values())
    if total <= 0:
        return
    for name, ms in mine.items():
        yield Part(name=name, log=left * max(0.0, ms) / total, after=ms)


def _phases_ms(side: Side, cycle: float) -> dict[Phase, float]:
    told = [parts for source in SOURCES if (parts := parts_of(side.phases, source)) is not None]
    if not told:
        return {}
    best = min(told, key=lambda p: p.clock != "gpu")
    return {phase: statistics.fmean(values) * cycle for phase, values in best.parts.items()}


def _limits(rig: Rig, metric: str, place: Place, which: str) -> Sequence[float]:
    arm, workload = place
    found = [
        getattr(b, which)
        for b in rig.budgets
        if b.metric == metric and b.arm in ("*", arm) and b.workload in ("*", workload)
    ]
    return [v for v in found if v is not None]
