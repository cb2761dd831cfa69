"""The bytes of /proc/PID/environ, and whether a variable's absence there proves anything.

The kernel shows the memory in which it laid the variables down at exec. `setproctitle` uses that very
memory for the title and fills the rest with NUL, up to the first variable that Python had already
changed: of a worker's environment nothing or only the tail is left, unless SPT_NOENV was set. Seen with
setproctitle 1.3.8 under Python 3.11; an SGLang 0.5.23 scheduler kept 19 of 61 variables.
"""

from __future__ import annotations

from tokgate.records.record import Record, Unread

_SHOWN = 500
_MAX_UNREAD = 200
# The kernel takes 6 MiB of arguments and variables at most (three quarters of the largest initial stack).
_LONGEST = 6 * 2**20


class EnvironReading(Record):
    """What was set when the process was started. `damaged`: absence proves nothing, `reason` says why."""

    variables: dict[str, str]
    damaged: bool
    reason: str | None = None
    unread: tuple[Unread, ...] = ()


def read_environ(raw: bytes) -> EnvironReading:
    r"""Read the bytes as they are. What is not UTF-8 becomes \xNN; of a repeated name the first holds."""
    if not raw:
        return EnvironReading(
            variables={},
            damaged=True,
            reason="empty: a zombie, a kernel thread, or started without any variable",
        )
    pieces = raw[:_LONGEST].split(b"\0")
    terminated = pieces[-1] == b""
    if terminated:
        pieces.pop()
    variables: dict[str, str] = {}
    unread: list[Unread] = []
    blanks = fragments = 0
    for number, piece in enumerate(pieces, start=1):
        if not piece:
            blanks += 1
            continue
        name, equals, value = piece.decode("utf-8", "backslashreplace").partition("=")
        if not equals or not name:
            fragments += 1
            unread.append(Unread(line=number, text=name[:_SHOWN] or value[:_SHOWN], why="not NAME=value"))
        elif name in variables:
            if variables[name] != value:
                unread.append(
                    Unread(line=number, text=f"{name}={value}"[:_SHOWN], why="the name came before")
                )
        else:
            variables[name] = value
    if len(unread) > _MAX_UNREAD:
        more = len(unread) - _MAX_UNREAD
        unread[_MAX_UNREAD:] = [Unread(text="", why=f"and {more} more pieces")]
    reasons = []
    if len(raw) > _LONGEST:
        reasons.append(f"{len(raw) - _LONGEST} bytes more than a kernel takes were not read")
    if blanks:
        reasons.append(f"{blanks} bytes are blanked out")
    if fragments:
        reasons.append(f"{fragments} pieces are no variables")
    if not terminated:
        reasons.append("the end is cut off")
    if not reasons:
        return EnvironReading(variables=variables, damaged=False, unread=tuple(unread))
    return EnvironReading(
        variables=variables,
        damaged=True,
        reason=f"{', '.join(reasons)}: overwritten after the start, by setproctitle most likely",
        unread=tuple(unread),
    )
