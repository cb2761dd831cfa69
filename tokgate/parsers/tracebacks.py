"""Exceptions in a server's log: those that it caught and logged under its own name, and the last that nobody caught."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tokgate.records import Record

from .cause_reading import LONGEST, CauseReading
from .crash_rules import CrashCause
from .log_prefix import PrefixedLine

_TRACEBACK = "Traceback (most recent call last):"
_HIT = re.compile(r"\b(?P<who>\w{1,60}) hit an exception: ")


class Traceback(Record):
    """One traceback: where it was told, and the exception at its end."""

    who: str | None  # "Scheduler", when it was caught and logged under that name
    rank: str | None
    intro: str
    last: str | None  # "RuntimeError: …"; None: the log ends before it


def tracebacks_in(lines: Sequence[PrefixedLine]) -> list[Traceback]:
    found = []
    for index, line in enumerate(lines):
        if _TRACEBACK not in line.text:
            continue
        # Frames, source lines and carets are indented; the exception is the first line that is not.
        last = next((later.text for later in lines[index + 1 :] if not later.text[0].isspace()), None)
        hit = _HIT.search(line.text)
        who = hit["who"] if hit else None
        found.append(Traceback(who=who, rank=line.rank, intro=line.text, last=last))
    return found


def caught_exception(tracebacks: Sequence[Traceback]) -> CauseReading | None:
    for trace in tracebacks:
        if trace.who:
            where = f" on {trace.rank}" if trace.rank else ""
            what = trace.last or "the log ends before it says which"
            return CauseReading(
                cause=CrashCause.CRASHED,
                headline=f"{trace.who} hit an exception{where}: {what}"[:LONGEST],
                evidence=tuple(text[:LONGEST] for text in (trace.intro, trace.last) if text),
                ranks=(trace.rank,) if trace.rank else (),
                suspect=trace.last is None,
            )
    return None


def uncaught_exception(tracebacks: Sequence[Traceback]) -> CauseReading | None:
    last = next((trace.last for trace in reversed(tracebacks) if trace.last), None)
    if last is None:
        return None
    return CauseReading(
        cause=CrashCause.NO_MODULE if last.startswith("ModuleNotFoundError") else CrashCause.CRASHED,
        headline=last[:LONGEST],
        evidence=(last[:LONGEST],),
    )
