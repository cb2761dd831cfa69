"""Why a server ended, as a reading of its log: the cause, a headline, and the lines that say so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokgate.records import Record

from .crash_rules import CrashCause
from .log_prefix import PrefixedLine

MOST_EVIDENCE = 6
LONGEST = 500  # characters of one quoted line


class CauseReading(Record):
    """The likeliest root cause that a log tells."""

    cause: CrashCause
    headline: str
    evidence: tuple[str, ...]  # lines of the log, as printed
    ranks: tuple[str, ...] = ()  # those that said it, and one whose stack hangs
    suspect: bool = False  # likely, not shown


def ranks_of(lines: Iterable[PrefixedLine]) -> tuple[str, ...]:
    return tuple(sorted({line.rank for line in lines if line.rank}))


def quote(lines: Sequence[PrefixedLine]) -> tuple[str, ...]:
    quoted = [f"[{line.rank}] {line.text}" if line.rank else line.text for line in lines]
    return tuple(dict.fromkeys(text[:LONGEST] for text in quoted))[:MOST_EVIDENCE]
