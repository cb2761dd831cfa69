"""A change in speed as log shares of acceptance, phases and rest, that sum to the whole; decompose.py makes them."""

from __future__ import annotations

import math

from tokgate.records.phases import Phase
from tokgate.records.record import Record

ACCEPTANCE, REST, CYCLE = "acceptance", "rest", "cycle"
NAMES = {Phase.DRAFT: "draft", Phase.VERIFY: "verify", Phase.DRAFT_EXTEND: "extend"}
METHOD = "delta method on independent means, Student's t, the logarithmic mean taken as known"


class Share(Record):
    name: str  # "acceptance", "draft", "verify", "extend", "rest", "whole"; "cycle": no phase is known
    log: float  # > 0: made it faster; e ** log is the factor on tok/s
    interval: tuple[float, float] | None  # of `log`; None: a side has too few values
    before: float | None  # accept length, or ms a cycle
    after: float | None

    @property
    def factor(self) -> float:
        """The factor on tok/s that this share alone makes."""
        return math.exp(self.log)

    @property
    def established(self) -> bool:
        return self.interval is not None and not self.interval[0] <= 0 <= self.interval[1]


class Decomposition(Record):
    """`shares` are in the order of NAMES between acceptance and rest; `why` is set where there are none.

    Where no phase is known on both sides, acceptance and cycle are all there is.
    """

    whole: Share | None = None
    shares: tuple[Share, ...] = ()
    confidence: float
    method: str = METHOD
    why: str | None = None
    warnings: tuple[str, ...] = ()

    def text(self) -> str:
        """Return one line, the largest share first: "tok/s -4.7 %: verify -4.4 %, …", what each alone makes of tok/s."""
        if self.whole is None:
            return f"the change cannot be split: {self.why}"
        ordered = sorted(self.shares, key=lambda s: -abs(s.log))
        parts = ", ".join(f"{s.name} {s.factor - 1:+.1%}" for s in ordered)
        return f"tok/s {self.whole.factor - 1:+.1%}: {parts} (each alone)"
