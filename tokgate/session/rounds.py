"""What measuring is given: a server, a clock of its rounds, and what looks or switches around its starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from tokgate.client.control import Control
from tokgate.client.stream import Target


class MeasuredServer(Protocol):
    """What measuring needs of a running server."""

    @property
    def control(self) -> Control: ...
    @property
    def target(self) -> Target: ...
    def why_gone(self) -> str | None: ...


class Rounds(Protocol):
    """Something that calls `take` once a round, e.g. a clock that records each call."""

    def __call__(self, take: Callable[[], None], *, rounds: int, warmup_rounds: int) -> None: ...


class Scrapes(Protocol):
    """Something that looks at the server right before and right after a workload's judged starts."""

    def before(self, workload: str) -> None: ...
    def after(self, workload: str) -> None: ...


class Switch(Protocol):
    """Something that is on or off while a start is taken, and says whether it is now as asked."""

    def turn(self, on: bool) -> bool: ...


def plain_rounds(take: Callable[[], None], *, rounds: int, warmup_rounds: int) -> None:
    for _ in range(warmup_rounds + rounds):
        take()
