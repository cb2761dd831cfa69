"""What a supervisor tells of its server."""

from __future__ import annotations

from typing import Any, NamedTuple

Event = dict[str, Any]


class State(NamedTuple):
    """Asked of the supervisor just now."""

    alive: bool
    log_bytes: int | None


class Exit(NamedTuple):
    """How the server's main process ended: one of the two is None."""

    rc: int | None
    signal: int | None

    def __str__(self) -> str:
        return f"ended with {self.rc}" if self.signal is None else f"was ended by signal {self.signal}"
