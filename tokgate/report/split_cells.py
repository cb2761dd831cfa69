"""A change and its shares as text, for a table and for a sentence; nothing here is escaped yet."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from tokgate.stats.log_shares import ACCEPTANCE, CYCLE, NAMES, REST, Decomposition, Share
from tokgate.verdicts.split import Split

from . import figures

COLUMNS = (
    "arm", "workload", "median tok/s", "change %", ACCEPTANCE, CYCLE, *NAMES.values(), REST, "together", "phases by",
)  # fmt: skip
_TEXTS = (0, 1, len(COLUMNS) - 1)
_PARTS = (*NAMES.values(), REST)

PAIRED = (
    "two intervals: that of the change is by server runs, so that what restarts and sessions differ by is in it; that of "
    "the shares and of what they make together compares starts of the same prompts, so it is narrower"
)
_APART = 2.0  # times as wide


def cells(split: Split) -> tuple[str, ...]:
    """Return the cells in the order of COLUMNS: what each share alone makes of tok/s, in per cent, with intervals."""
    found = split.split
    shares = {s.name: s for s in found.shares} if found is not None else {}
    whole = found.whole if found is not None else None
    cycle = shares.get(CYCLE)
    if cycle is None and whole is not None:
        told = figures.NONE if ACCEPTANCE not in shares else part(whole.log - shares[ACCEPTANCE].log)
    else:
        told = _share(cycle)
    return (
        split.arm,
        split.workload,
        _rates(split),
        change(split),
        _share(shares.get(ACCEPTANCE)),
        told,
        *(_share(shares.get(name)) for name in _PARTS),
        _share(whole),
        _source(split),
    )


def tabled(found: Iterable[Split]) -> tuple[tuple[str, ...], ...]:
    return tuple(cells(split) for split in found)


def numeric(column: int) -> bool:
    """Say whether a column of COLUMNS holds numbers."""
    return column not in _TEXTS


def sentence(split: Split) -> str:
    """Return "tok/s -7.4 % (-7.6 … -7.2): acceptance -0.1, draft 0.0, verify -6.9, … (% each alone)"."""
    return (
        f"tok/s {change(split)}: {shares(split.split)}"
        if split.split is not None
        else f"tok/s {change(split)}"
    )


def shares(found: Decomposition) -> str:
    """Return the shares of a change in their order: what each alone makes of tok/s, in per cent."""
    if found.whole is None:
        return f"it cannot be split: {found.why}"
    told = ", ".join(f"{s.name} {part(s.log)}" for s in found.shares)
    return f"{told} (% each alone)"


def notes(split: Split) -> Iterator[str]:
    """Yield what a reader of the shares has to know."""
    if split.split is not None and split.split.why is not None:
        yield f"the change cannot be split: {split.split.why}"
    if split.why_no_phases is not None:
        yield f"split into acceptance and cycle alone: {split.why_no_phases}"
    if split.source is not None and split.spread is None:
        yield f"no interval of a phase: {split.source} tells one mean a launch"
    elif split.spread != split.source:
        yield f"{split.source} tells one mean a launch: its intervals are as the starts of the {split.spread} spread"
    if _narrower(split):
        yield PAIRED
    for other in split.others:
        yield f"by {other.source} ({other.clock} clock): {shares(other.split)}"
    yield from split.warnings


def noted(found: Iterable[Split]) -> tuple[tuple[str, str], ...]:
    """Return where each note belongs to, "eagle3-2step single, conc8", and the note: each once."""
    told: dict[tuple[str, str], list[str]] = {}
    for split in found:
        for note in notes(split):
            told.setdefault((split.arm, note), []).append(split.workload)
    return tuple((f"{arm} {', '.join(workloads)}", note) for (arm, note), workloads in told.items())


def change(split: Split) -> str:
    """Return the measured change of decode tok/s with its interval."""
    if split.interval is None:
        return f"{figures.percent(split.change)} (too few values for an interval)"
    low, high = split.interval
    return f"{figures.percent(split.change)} ({low * 100:+.1f} … {high * 100:+.1f})"


def part(value: float) -> str:
    """Format what a log share alone makes of tok/s, in per cent: its factor less one."""
    return signed(math.expm1(value))


def signed(value: float) -> str:
    """Format a relative change in per cent; what rounds to nothing has no sign."""
    told = f"{value * 100:+.1f}"
    return "0.0" if told in ("+0.0", "-0.0") else told


def _rates(split: Split) -> str:
    before, after = (figures.number(v, "decode_tok_s") for v in split.tok_s)
    shown = split.interval is not None and not split.interval[0] <= 0 <= split.interval[1]
    # An arrow says that something has moved.
    return f"{before} → {after}" if shown else f"{before}, {after}"


def _share(share: Share | None) -> str:
    if share is None:
        return figures.NONE
    if share.interval is None:
        return part(share.log)
    return f"{part(share.log)} ({part(share.interval[0])} … {part(share.interval[1])})"


def _narrower(split: Split) -> bool:
    whole = split.split.whole if split.split is not None else None
    if whole is None or whole.interval is None or split.interval is None:
        return False
    by_runs, by_starts = (high - low for low, high in (split.interval, whole.interval))
    return by_runs > _APART * by_starts


def _source(split: Split) -> str:
    if split.split is None:
        return figures.NONE
    return "none" if split.source is None else f"{split.source} ({split.clock})"
