"""Processes that died without an exception: crashed in native code, by an exit code that another one told, or killed."""

from __future__ import annotations

import re
import signal
from collections.abc import Sequence

from .cause_reading import LONGEST, CauseReading, quote, ranks_of
from .crash_rules import CrashCause
from .log_prefix import PrefixedLine

_DIED = re.compile(
    r"Rank (?P<rank>\d{1,6}) scheduler died during initialization \(exit code: (?P<code>-?\d{1,6})\)|"
    r"Rank (?P<dead>\d{1,6}) scheduler is dead|^Exit code: (?P<later>-?\d{1,6})|"
    r"^Subprocess (?P<name>\S+) \(pid=\d+\) crashed with exit code (?P<sub>-?\d{1,6})"
)
_SIGQUIT = re.compile(r"Received sigquit from a child proces")
_NATIVE = re.compile(
    r"^(?P<why>Fatal Python error: .{1,200}|terminate called after throwing an instance of .{1,200}|"
    r"Segmentation fault.{0,60}|.{0,200}CUDA error: .{1,200}|Aborted(?: \(core dumped\))?)$"
)
_KILLED = re.compile(r"^(?:\S*sh: line \d+: +\d+ )?Killed\b")


def native_crash(lines: Sequence[PrefixedLine]) -> CauseReading | None:
    hits = [(line, match) for line in lines if (match := _NATIVE.match(line.text))]
    if not hits:
        return None
    return CauseReading(
        cause=CrashCause.CRASHED,
        headline=f"crashed: {hits[0][1]['why']}"[:LONGEST],
        evidence=quote([line for line, _ in hits]),
        ranks=ranks_of(line for line, _ in hits),
    )


def dead_rank(lines: Sequence[PrefixedLine]) -> CauseReading | None:
    hits = [(line, match) for line in lines if (match := _DIED.search(line.text))]
    if not hits:
        return None
    parts = {name: value for _, match in reversed(hits) for name, value in match.groupdict().items() if value}
    rank = parts.get("rank") or parts.get("dead")
    who = f"rank {rank}" if rank else parts.get("name", "a child process")[:100]
    code = int(parts.get("code") or parts.get("sub") or parts.get("later") or 0)
    return CauseReading(
        cause=CrashCause.RANK_DIED,
        headline=f"{who} died: {_exit_words(code)}",
        evidence=quote([line for line, _ in hits]),
        ranks=(f"TP{rank}",) if rank else (),
        suspect=code == -signal.SIGKILL,
    )


def _exit_words(code: int) -> str:
    if code == -signal.SIGKILL:
        return "killed by signal 9; suspect the host's out-of-memory killer"
    if code == -signal.SIGQUIT:
        return "ended by SIGQUIT from a sibling; the cause is earlier in the log, in another rank"
    if code < 0:
        try:
            return f"killed by signal {-code} ({signal.Signals(-code).name})"
        except ValueError:
            return f"killed by signal {-code}"
    return f"exit code {code}" if code else "no exit code given"


def last_words(lines: Sequence[PrefixedLine]) -> CauseReading | None:
    for line in lines:
        if _SIGQUIT.search(line.text):
            return CauseReading(
                cause=CrashCause.RANK_DIED,
                headline="a child process failed and did not say why",
                evidence=quote([line]),
                suspect=True,
            )
    for line in lines[-3:]:
        if _KILLED.match(line.text):
            return CauseReading(
                cause=CrashCause.RANK_DIED,
                headline="killed by signal 9; suspect the host's out-of-memory killer",
                evidence=quote([line]),
                suspect=True,
            )
    return None
