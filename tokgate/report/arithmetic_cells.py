"""The arithmetic of speculation as cells of a table and as sentences; nothing is escaped yet."""

from __future__ import annotations

from collections.abc import Iterable

from tokgate.stats.crossover import Level

from . import figures
from .arithmetic import Arithmetic

COLUMNS = (
    "arm", "draft model", "workload", "accept length", "cycle ms", "tok/s", "tok/s of its twin", "break-even cycle ms",
    "headroom ms", "break-even accept length", "verify mean ms", "verify at most ms", "verify by",
)  # fmt: skip
_TEXTS = 3  # columns of words before those of numbers
NO_ROOM = "none"
CARRYING = " with instruments"  # behind the name of an arm that was not timed


def cells(row: Arithmetic) -> tuple[str, ...]:
    """Return the cells in the order of COLUMNS; nothing is escaped yet."""
    return (
        _arm_words(row),
        draft_name(row.draft_model),
        row.workload,
        figures.optional(row.accept_length, "accept_length"),
        figures.optional(row.cycle_ms, "cycle_ms"),
        figures.optional(row.tok_s, "decode_tok_s"),
        figures.optional(row.twin_tok_s, "decode_tok_s"),
        figures.optional(row.break_even_cycle_ms, "cycle_ms"),
        figures.NONE if row.headroom_ms is None else f"{row.headroom_ms:+.2f}",
        figures.optional(row.break_even_accept_length, "accept_length"),
        figures.optional(row.verify_ms, "cycle_ms"),
        _at_most(row),
        figures.NONE if row.verify_source is None else f"{row.verify_source} ({row.verify_clock})",
    )


def tabled(rows: Iterable[Arithmetic]) -> tuple[tuple[str, ...], ...]:
    return tuple(cells(row) for row in rows)


def numeric(column: int) -> bool:
    """Say whether a column of COLUMNS holds numbers."""
    return _TEXTS <= column < len(COLUMNS) - 1


def sentence(row: Arithmetic, level: Level | None = None) -> str | None:
    """Return the row as one line for a terminal; None where there is no break-even.

    `level` is the speed-up of the same arm and workload: of several streams it is that of all together, which may be a
    loss where one stream breaks even, and then the same line says so.
    """
    if row.cycle_ms is None or row.break_even_cycle_ms is None or row.accept_length is None:
        return None
    room = row.headroom_ms or 0.0
    size = f"{abs(room):.1f}" if abs(room) >= 0.1 else f"{abs(room):.2f}"
    told = f"{size} to spare" if room >= 0 else f"{size} too long"
    verify = ""
    if row.verify_ms is not None:
        most = NO_ROOM if row.verify_at_most_ms is None else f"{row.verify_at_most_ms:.1f}"
        by = "" if row.verify_source is None else f" by {row.verify_source}"
        verify = f"; verify mean {row.verify_ms:.1f}{by}, at most {most}"
    one = " one stream:" if row.concurrency > 1 else ""
    return (
        f"{row.arm}{CARRYING if row.instrumented else ''} {row.workload}:{one} {row.accept_length:.2f} tokens in {row.cycle_ms:.1f} ms, "
        f"{_asked(row)}break-even {row.break_even_cycle_ms:.1f} ({told}){_together(row, level)}{verify}"
    )


def _asked(row: Arithmetic) -> str:
    """Return "for 1.10x at most 18.8 (0.9 too long), " where the rig asks more than break-even."""
    if row.asked == 1 or row.asked_cycle_ms is None or row.cycle_ms is None:
        return ""
    room = row.asked_cycle_ms - row.cycle_ms
    told = f"{abs(room):.1f} {'to spare' if room >= 0 else 'too long'}"
    return f"for {row.asked:.2f}x at most {row.asked_cycle_ms:.1f} ({told}), "


def _together(row: Arithmetic, level: Level | None) -> str:
    """Say how all streams fare where that is another answer than one stream's."""
    if level is None or level.concurrency < 2 or level.wins is not row.loses:
        undecided = level is not None and level.concurrency > 1 and level.wins is None
        return f"; all {row.concurrency} together: not decided" if undecided else ""
    size = f"{abs(level.ratio - 1) * 100:.1f} %"
    return f"; but all {level.concurrency} together {'win' if level.wins else 'lose'} {size}"


def untold(rows: Iterable[Arithmetic]) -> tuple[tuple[str, str], ...]:
    """Return arm and workload, and why something of their arithmetic is not known; each reason once an arm."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for why in (row.why, row.why_no_verify):
            if why is not None:
                found.setdefault((row.arm, why), []).append(row.workload)
    return tuple((f"{arm}, {', '.join(workloads)}", why) for (arm, why), workloads in found.items())


def draft_name(path: str | None) -> str:
    """Return what people call a draft model: the end of its path."""
    return figures.NONE if path is None else path.rstrip("/").rsplit("/", 1)[-1] or path


def _arm_words(row: Arithmetic) -> str:
    pinned = "" if row.pinned is None else " (pinned)"
    return f"{row.arm}{pinned}{CARRYING if row.instrumented else ''}"


def _at_most(row: Arithmetic) -> str:
    """Where the rig asks more than break-even, say for what: a budget on verify itself is another limit."""
    if _no_room(row) or row.verify_at_most_ms is None:
        return NO_ROOM if _no_room(row) else figures.NONE
    asked = "" if row.asked == 1 else f" (for {row.asked:.2f}x)"
    return f"{figures.number(row.verify_at_most_ms, 'cycle_ms')}{asked}"


def _no_room(row: Arithmetic) -> bool:
    return row.verify_ms is not None and row.verify_at_most_ms is None and row.break_even_cycle_ms is not None
