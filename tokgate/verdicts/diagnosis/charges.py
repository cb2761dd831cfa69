"""The books of one place: what each cause was charged with, and what is left."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .cause import Explained, share_of
from .losses import Loss, Part

# Below 1 % of tok/s nothing is charged: server runs of one server differ by that much.
SMALLEST = 0.01


@dataclass
class _Charge:
    log: float = 0.0  # from 0 up
    at_most: bool = False
    alone: Part | None = None  # the one part that it took whole
    by: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)


class Books:
    """Charges of one arm and workload, in logarithms of tok/s."""

    def __init__(self) -> None:
        self._charges: dict[str, _Charge] = {}

    def add(
        self, name: str, log: float, *, by: str, part: str, at_most: bool = False, alone: Part | None = None
    ) -> None:
        if log <= 0:
            return
        charge = self._charges.setdefault(name, _Charge())
        charge.alone = alone if charge.log == 0 else None
        charge.log += log
        charge.at_most |= at_most
        charge.by.append(by)
        charge.parts.append(part)

    def told(self, loss: Loss) -> Iterator[tuple[str, Explained]]:
        """Yield every charge that is large enough to be called."""
        for name, charge in self._charges.items():
            if share_of(-charge.log) < SMALLEST:
                continue
            interval = charge.alone.interval if charge.alone is not None else None
            explained = Explained(
                arm=loss.arm,
                workload=loss.workload,
                against=loss.against,
                loss=share_of(loss.log),
                share=share_of(-charge.log),
                interval=None if interval is None else (share_of(interval[1]), share_of(interval[0])),
                at_most=charge.at_most,
                by="; ".join(dict.fromkeys(charge.by)),
                parts=tuple(dict.fromkeys(charge.parts)),
            )
            yield name, explained


@dataclass
class Account:
    """One part of a loss while it is charged: every cause takes no more than is left."""

    part: Part
    books: Books
    left: float = 0.0
    taken: dict[str, float] = field(default_factory=dict)
    doubt: float = 0.0  # how much of what is left may still be theirs

    def __post_init__(self) -> None:
        self.left = -self.part.log

    @property
    def whole(self) -> bool:
        """Whether nothing was taken yet."""
        return not self.taken

    @property
    def ms(self) -> float:
        """What the part has grown by; 0 where it is not known what it was."""
        return max(0.0, (self.part.after or 0.0) - (self.part.before or 0.0))

    def take(self, name: str, log: float, *, by: str, at_most: bool = False, within: float = 0.0) -> None:
        """Charge a cause with at most `log`, known `within` such a part of itself (0.25: a quarter)."""
        got = min(self.left, max(0.0, log))
        if got > 0:
            self.books.add(name, got, by=by, part=self.part.name, at_most=at_most)
            self.taken[name] = self.taken.get(name, 0.0) + got
            self.left -= got
            self.doubt += within * got

    def of_factor(self, log: float, weight: float) -> float:
        """Return what a slowdown by e ** log makes of this part. `weight`: its part of the step, where no ms is known."""
        if self.part.before is None or self.ms <= 0:
            return log * weight
        return self.of_ms(self.part.before * math.expm1(log))

    def of_ms(self, ms: float) -> float:
        """Return what so many ms of this part make of its loss."""
        return -self.part.log * min(1.0, ms / self.ms) if self.ms > 0 else 0.0

    def absorb(self, by: str) -> None:
        """Give a small rest to what has taken most: it lies within what sizes are known by, and is no further cause."""
        if self.taken and self.left <= self.doubt:
            self.take(max(self.taken, key=lambda name: self.taken[name]), self.left, by=by)

    def close(self, name: str, *, by: str, at_most: bool = False) -> None:
        """Charge a cause with all that is left."""
        alone = self.part if self.whole and not at_most else None
        self.books.add(name, self.left, by=by, part=self.part.name, at_most=at_most, alone=alone)
        self.left = 0.0


def folded(told: Iterator[tuple[str, Explained]], into: dict[str, list[Explained]]) -> None:
    for name, explained in told:
        into.setdefault(name, []).append(explained)


def sorted_by_share(found: Mapping[str, list[Explained]]) -> dict[str, tuple[Explained, ...]]:
    return {name: tuple(sorted(told, key=lambda e: -e.share)) for name, told in found.items()}
