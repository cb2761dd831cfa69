"""What of a long session a page has room for: whatever the run was, it stays of a size that can be opened and mailed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")

# Of each part of report.html, measured with a session of 200 launches: the page has 2 MB at most (docs/reports.md).
MOST_MATRICES = 12  # some 6 kB each, with eight ranks
MOST_WATCHED = 8  # some 9 kB each
MOST_SLATES = 48
MOST_LINES = 32  # command lines, some 2 kB each
MOST_ROWS = 120  # of a table with a row a launch and workload
MOST_FIRST = 240  # verdicts that were not kept, some 1 kB each
MOST_OF_A_GROUP = 16  # verdicts that follow from one fault, or of one promise kept


class Shown(NamedTuple, Generic[T]):
    items: tuple[T, ...]  # in their order
    left: int  # how many others there are


def within(items: Sequence[T], most: int, first: Callable[[T], bool] | None = None) -> Shown[T]:
    """Take `most` of the items at most: those that are to be seen `first`, then the others as they come."""
    if len(items) <= most:
        return Shown(tuple(items), 0)
    numbers = sorted(range(len(items)), key=lambda i: (first is not None and not first(items[i]), i))
    return Shown(tuple(items[i] for i in sorted(numbers[:most])), len(items) - most)
