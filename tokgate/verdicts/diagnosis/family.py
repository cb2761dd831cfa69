"""What a family of causes is: it reads the case and what was found, and tells of each of its causes once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from .case import Case
from .cause import Cause, Explained
from .marks import Marks


@dataclass(frozen=True)
class Found:
    """The marks, and what the ledger has charged to whom."""

    marks: Marks
    charges: Mapping[str, Sequence[Explained]]

    def of(self, name: str) -> tuple[Explained, ...]:
        return tuple(self.charges.get(name, ()))


class Family(Protocol):
    def __call__(self, case: Case, found: Found, /) -> Iterator[Cause]: ...
