"""One possible cause: what speaks for it, what against it, how much of a loss it explains, and what to run next."""

from __future__ import annotations

import math
from enum import StrEnum

from pydantic import Field

from tokgate.records.record import Record


class Strength(StrEnum):
    """How far the evidence goes. Only the first two say that it *is* the cause."""

    PROVEN = "proven"  # seen directly, and the numbers are void for it: no A/B is needed to know that
    ISOLATED = "isolated"  # two sides of one session differ in this alone, and so do their numbers
    CONSISTENT = (
        "consistent"  # its mark is there and the size of the loss fits; an A/B would have to isolate it
    )
    WEAK = "weak"  # its mark is there, and no loss is known that it would explain; or its mark cannot be excluded
    ACCOUNTED = "accounted for"  # its mark is there, and causes with another name take all of it
    EXCLUDED = "excluded"  # looked at, and it is not there


RANKED = (Strength.PROVEN, Strength.ISOLATED, Strength.CONSISTENT)


class Explained(Record):
    """What a cause takes of one arm's loss. Both are shares of tok/s: 0.26 is 26 % fewer."""

    arm: str
    workload: str
    against: str = Field(
        description="the stored baseline by its name, the limits of the rig, or the base of a change in this session"
    )
    loss: float = Field(description="the whole loss")
    share: float = Field(description="what this cause alone makes of it; with the others it multiplies")
    interval: tuple[float, float] | None = Field(
        None,
        description="of `share`, within server runs; null: too few values, or the cause has no own number",
    )
    at_most: bool = Field(False, description="other causes of the same loss cannot be told from this one")
    by: str = Field(description="how the share was found")
    parts: tuple[str, ...] = Field((), description="of the cycle or the step: what it takes the share of")


class Cause(Record):
    name: str
    strength: Strength
    words: str = Field(description="one sentence")
    explains: tuple[Explained, ...] = Field((), description="the largest share first")
    evidence_for: tuple[str, ...] = ()
    evidence_against: tuple[str, ...] = ()
    do: str = Field(description="the next step, with the command to run")
    isolated_by: str | None = Field(
        None, description="the A/B of this session that tells this cause from all others; null: none did"
    )

    @property
    def share(self) -> float | None:
        """The largest share of a loss that it explains; None: none is known."""
        return max((e.share for e in self.explains), default=None)


class Diagnosis(Record):
    """Causes in the order in which to look at them; empty where nothing was lost, or nothing stands out."""

    causes: tuple[Cause, ...] = ()
    excluded: tuple[Cause, ...] = Field((), description="what was looked at and is not it, with the reason")
    accounted: tuple[Cause, ...] = Field(
        (), description="what has become slower and is no further cause: others take all of it"
    )
    note: str | None = Field(None, description="why there is no cause")


def share_of(log: float) -> float:
    """Return a loss as a share of tok/s from its logarithm; a gain is below 0.

    >>> round(share_of(math.log(0.74)), 2)
    0.26
    """
    return -math.expm1(log)
