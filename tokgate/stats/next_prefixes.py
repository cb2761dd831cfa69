"""What a search measures next, and when it stops: a pure function of how its segments stand (group_testing.py).

It begins with base and head, twice each in the order base, head, head, base, so that a steady drift meets both alike. Then,
round by round: a segment that costs or gains is split at its middle; one that looks like it and is not established is
split too, since what costs has to be looked for inside anyway (the whole change only once no further run would settle it);
one that looks clean and is not shown to be is measured again at both ends. The base comes again every few runs and at the
end, so that a drift shows. The rates hold whatever this module does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from tokgate.records.record import Record

from .bounds import MODES, by_modes
from .confirm import AGREE
from .decision import Wants
from .group_testing import Measured, Search, Segment, middle

FIRST = 1  # server run of a prefix when it is first measured: it says where to look, and a loss is called with two
AT_ONCE = 2  # further runs of a prefix without a look between
APART = 4  # server runs from one of the base to the next, at most


def changes_words(first: int, last: int) -> str:
    """Return what a segment is called where nobody has better names."""
    return f"changes {first + 1} to {last}" if last - first > 1 else f"change {last}"


class Round(Record):
    """`prefixes`: what to measure, in order, before the next look."""

    prefixes: tuple[int, ...]
    reason: str


class Done(Record):
    reason: str
    open: tuple[tuple[int, int], ...] = ()  # segments that were left undecided
    why: dict[str, str] = {}  # of each of them, by "first-last"


def opening(changes: int) -> Round:
    """Return what every search begins with."""
    return Round(
        prefixes=(0, changes, changes, 0),
        reason="what the change costs as a whole: base and head, twice each",
    )


def next_round(
    found: Search,
    measured: Measured,
    *,
    affordable: int,
    most: int,
    since_base: int,
    broken: frozenset[int] = frozenset(),
    inside: bool = False,
    words: Callable[[int, int], str] = changes_words,
) -> Round | Done:
    """Decide. `affordable`: server runs that are left of the budget; `most`: runs of one prefix, at most.

    `since_base`: server runs since the last one of the base. `inside`: split what is cleared too, since a gain may hide a loss there.
    `words`: what a segment is called.
    """
    left = {k: most - len(measured.get(k, ())) for k in range(found.nodes[0].last + 1)}
    wanted: Counter[int] = Counter()
    reasons: list[str] = []
    why: dict[str, str] = {}
    undecided: list[tuple[int, int]] = []
    worst_first = sorted(found.parts, key=lambda p: (-abs(p.decision.loss), p.first))
    for part in worst_first:
        runs, reason = _of_part(found, part, measured, broken, inside=inside, words=words)
        if reason is None:
            continue
        if not runs:
            why[_name(part)] = reason
        else:
            together = wanted | Counter(runs)
            if any(n > left[k] for k, n in runs.items()):
                why[_name(part)] = (
                    f"{reason}, and no prefix is started more than {most} times (sampling.most_restarts)"
                )
            elif sum(together.values()) + _closing(together, since_base) > affordable:
                why[_name(part)] = (
                    f"{reason}: {sum(runs.values()) + 1} more server runs, and {affordable} are left (sampling.gpu_time_s)"
                )
            else:
                wanted, reasons = together, [*reasons, reason]
                continue
        undecided.append((part.first, part.last))
    if not wanted:
        settled = "every part is settled" if not undecided else next(iter(why.values()))
        if since_base and affordable and left[0] > 0:
            return Round(prefixes=(0,), reason="the base closes the search, so that a drift shows")
        return Done(reason=settled, open=tuple(sorted(undecided)), why=why)
    if _closing(wanted, since_base) and left[0] > 0:
        wanted[0] = 1
    return Round(prefixes=tuple(_in_turn(wanted)), reason="; ".join(dict.fromkeys(reasons)))


def _of_part(
    found: Search,
    part: Segment,
    measured: Measured,
    broken: frozenset[int],
    *,
    inside: bool,
    words: Callable[[int, int], str],
) -> tuple[Mapping[int, int], str | None]:
    """Return which further runs a part asks for and why; no runs with a reason: nothing here would settle it."""
    at = middle(part.first, part.last, broken)
    label = words(part.first, part.last)
    decision = part.decision
    is_whole = part.size == found.nodes[0].size
    if (part.state == "clear" and not (inside and at is not None)) or (part.state == "gain" and at is None):
        return {}, None
    looks_like_it = abs(decision.loss) > decision.floor and (not is_whole or decision.wants == Wants())
    if at is not None and (part.state != "open" or looks_like_it):
        costs = {"loss": "a cost of", "gain": "a gain of", "clear": "in all"}.get(
            part.state, "perhaps a cost of"
        )
        return {at: FIRST}, f"{label}: {costs} {abs(decision.loss):.1%}, looked for inside"
    if part.state == "loss":
        if part.confirmed:
            return {}, None
        return _to_confirm(part, measured), f"{label}: its loss is to be confirmed by restarts"
    wants = decision.wants
    if wants == Wants():
        return {}, f"{label}: no number of restarts would settle it"
    runs = {k: min(n, AT_ONCE) for k, n in ((part.last, wants.now), (part.first, wants.before)) if n}
    return runs, f"{label}: neither a loss nor its absence is shown"


def _to_confirm(part: Segment, measured: Measured) -> dict[int, int]:
    """Return a run of each end, of the one with fewer first; two where both have as many."""
    before, now = len(measured[part.first]), len(measured[part.last])
    if min(before, now) < AGREE:
        return {k: AGREE - n for k, n in ((part.first, before), (part.last, now)) if n < AGREE}
    sooner = min(((1, 0), (0, 1)), key=lambda more: by_modes(before + more[0], now + more[1]))
    if by_modes(before + sooner[0], now + sooner[1]) <= MODES:
        return {part.first: 1} if sooner[0] else {part.last: 1}
    return {part.first: 1, part.last: 1}


def _in_turn(wanted: Counter[int]) -> Iterator[int]:
    """Yield every prefix once a turn, to and fro, so that a drift meets them alike; the base comes last."""
    turns = max(wanted.values())
    order = sorted(k for k in wanted if k)
    for turn in range(turns):
        base_now = wanted[0] - (turns - turn)  # its runs are spread over the last turns
        forward = order if turn % 2 == 0 else order[::-1]
        yield from (k for k in forward if wanted[k] > turn)
        if base_now >= 0:
            yield 0


def _closing(wanted: Mapping[int, int], since_base: int) -> int:
    """Return 1 where a base has to come behind these."""
    return int(0 not in wanted and since_base + sum(wanted.values()) >= APART)


def _name(part: Segment) -> str:
    return f"{part.first}-{part.last}"
