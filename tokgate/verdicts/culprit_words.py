"""The parts of a change in words: which commit or patch, which files, what it costs and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.records.side import Unit

from .culprit import CulpritPart, CulpritTable
from .side_words import listed

_FILES = 3  # of a unit, named one by one

FINDINGS = {
    "costs": "costs",
    "may-cost": "may cost",
    "gains": "gains",
    "clear": "cleared",
    "open": "undecided",
}


def amount(part: CulpritPart) -> str:
    """Return "7.5 % [6.9, 8.1]": the cost with its 95 % interval, a gain as one."""
    cost, low, high = part.cost, *part.interval
    if part.finding == "gains":
        cost, low, high = -cost, -high, -low
    return f"{cost * 100:z.1f} % [{low * 100:z.1f}, {high * 100:z.1f}]"


def unit_words(unit: Unit) -> str:
    """Return "a1b2c3d4e5 verify: count drafts (python/sglang/srt/…/eagle_worker_v2.py)"."""
    return f"{unit.name} ({files_words(unit.files)})" if unit.files else unit.name


def files_words(files: Sequence[str]) -> str:
    more = len(files) - _FILES
    told = ", ".join(files[:_FILES])
    return f"{told} and {more} more" if more > 0 else told


def units_of(part: CulpritPart) -> str:
    """Return the part by its units: the one in full, several by name."""
    if len(part.units) == 1:
        return unit_words(part.units[0])
    if not part.units:
        return f"units {part.first + 1} to {part.last}"
    return f"{len(part.units)} units together, {listed([unit.name for unit in part.units])}"


def headline(table: CulpritTable) -> str:
    """Return the answer in one sentence: who costs, how much, and what is still open."""
    called, where = table.called(), f"on {table.arm} in {table.workload}"
    whole = table.whole
    if called:
        told = "; ".join(f"{units_of(part)} costs {amount(part)}" for part in called)
        rest = _rest(table)
        clash = [one.unit.name for one in table.taken_out if one.finding == "does-not"]
        rest += (
            f"; costs do not add up: {', '.join(clash)} and units behind act on each other" if clash else ""
        )
        return f"{told}, {where}; the change as a whole {_whole(whole)}{rest}"
    if table.spread:
        parts = table.spread[0]
        each = max(p.cost for p in table.parts if parts.first <= p.first and p.last <= parts.last)
        return (
            f"the change costs {amount(parts)} {where}, and no unit of it alone: each costs less than is called by itself, "
            f"{each:.1%} at most, and together they do ({units_of(parts)})"
        )
    if whole.finding == "costs":
        return f"the change costs {amount(whole)} {where}; which part of it does is undecided{_rest(table)}"
    if not table.complete:
        return f"which part of the change costs is undecided {where}: as a whole it {_whole(whole)}{_rest(table)}"
    if whole.finding == "gains":
        return f"the change gains {amount(whole)} {where}, and no part of it costs{_gains(table)}"
    return f"no part of the change costs {where}: as a whole it {_whole(whole)}"


def lines(table: CulpritTable) -> Iterator[str]:
    """Yield the evidence: each part, what was left out of the search, what it took, and how sure it is."""
    called = table.called()
    for part in (*called, *(p for p in table.parts if p not in called)):
        yield part_words(part)
    for part in table.spread:
        yield f"{units_of(part)}: {amount(part)} together, though none of them by itself"
    if table.inert:
        yield f"change nothing that a server imports, so they cost nothing: {listed([u.name for u in table.inert])}"
    for side, why in table.broken.items():
        yield f"the side {side} was searched around: it {why}"
    yield adds_up(table)
    yield from taken_out_words(table)
    yield took(table)
    yield sure(table)
    if table.moved:
        yield f"the base itself lies up to {table.moved:.2%} apart between its runs: no cost below that is called"


def part_words(part: CulpritPart) -> str:
    told = f"{units_of(part)}: {FINDINGS[part.finding]}, {amount(part)}"
    if part.finding == "clear":
        told += f", {part.at_most:.1%} at most" if part.at_most > 0 else ", any cost would have been seen"
        if len(part.units) > 1:
            told += "; a gain and a cost that cancel each other within the group would not show"
    elif part.why is not None:
        told += f"; {part.why}"
    elif part.finding == "may-cost":
        told += "; not confirmed by restarts"
    return told


def adds_up(table: CulpritTable) -> str:
    """Say what the parts make together, beside head against base."""
    parts = "the part" if len(table.parts) == 1 else f"the {len(table.parts)} parts"
    return (
        f"{parts}, one on top of the other, make {table.product * 100:.1f} %; head against base is {table.whole.cost * 100:.1f} %: "
        "each unit's cost is that on top of the units before it"
    )


def taken_out_words(table: CulpritTable) -> Iterator[str]:
    """Yield whether what a unit costs is its own, or that of the company it is in."""
    for one in table.taken_out:
        low, high = one.interval
        told = f"taken out of the whole change, {one.unit.name} gives back {one.back * 100:.1f} % [{low * 100:.1f}, {high * 100:.1f}]"
        least, most = (end * 100 for end in one.difference_interval)
        apart = f"{one.difference * 100:+.1f} % [{least:+.1f}, {most:+.1f}] beyond its cost"
        yield {
            "adds-up": f"{told}: what it costs on top of the units before it, so the costs add up",
            "does-not": f"{told}, {apart}: the costs do not add up, it and the units behind it act on each other",
            "open": f"{told}, {apart}: whether the costs add up is not shown by so few server runs",
        }[one.finding]
    for name, why in table.not_taken_out.items():
        yield f"whether the costs add up is not known of {name}: the change without it {why}"


def took(table: CulpritTable) -> str:
    return (
        f"{table.server_runs} server runs, {table.seconds:.0f} s; two of every prefix would have been {table.every_prefix}; "
        f"{table.left_s:.0f} of {table.budget_s:.0f} s are left (sampling.gpu_time_s); {table.ended}"
    )


def sure(table: CulpritTable) -> str:
    modes = [part.modes for part in table.called() if part.modes is not None]
    told = (
        f"each comparison had a chance of a false alarm of {table.whole.level * 100:.2g}%, all that the search could make "
        "together the session's"
    )
    if modes:
        told += f"; a server whose restarts fall into two modes shows such a step with a chance of at most {max(modes):.2%}"
    return told


def _whole(whole: CulpritPart) -> str:
    words = {
        "costs": "costs",
        "may-cost": "may cost",
        "gains": "gains",
        "clear": "costs nothing worth calling,",
        "open": "is undecided,",
    }[whole.finding]
    return f"{words} {amount(whole)}"


def _rest(table: CulpritTable) -> str:
    """Say what else there is beside what is called."""
    told = _gains(table)
    unsure = (*table.of("may-cost"), *table.of("open"))
    if unsure:
        told += f"; undecided: {'; '.join(f'{units_of(part)} {amount(part)}' for part in unsure)}"
    elif table.called() and len(table.parts) > len(table.called()) + len(table.of("gains")):
        told += "; nothing else in it costs"
    return told


def _gains(table: CulpritTable) -> str:
    return "".join(f"; {units_of(part)} gains {amount(part)}" for part in table.of("gains"))
