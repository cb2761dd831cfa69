"""Where two outputs part, and whether a near tie excuses it. Pure; the promise is in checks/lossless.py."""

from __future__ import annotations

import math

from tokgate.records import Generation
from tokgate.records.record import Record


class Divergence(Record):
    """The first position at which two outputs of one prompt differ."""

    index: int  # the prompt
    position: int  # 0-based token position
    control_id: int | None  # None: the control's output ended before
    arm_id: int | None


class Tie(Record):
    """The two best candidates of the control at a divergence."""

    best: tuple[float, int]
    second: tuple[float, int]

    @property
    def gap(self) -> float:
        return self.best[0] - self.second[0]


def first_divergence(control: Generation, arm: Generation) -> Divergence | None:
    """Return None for equal outputs; raises ValueError when one carries no output ids."""
    ours, theirs = control.output_ids, arm.output_ids
    if ours is None or theirs is None:
        raise ValueError(f"prompt {control.index}: an output without ids cannot be compared")
    for position in range(max(len(ours), len(theirs))):
        a = ours[position] if position < len(ours) else None
        b = theirs[position] if position < len(theirs) else None
        if a != b:
            return Divergence(index=control.index, position=position, control_id=a, arm_id=b)
    return None


def tie_at(control: Generation, divergence: Divergence) -> Tie | None:
    """Return the control's two best candidates there; None when they were not told or make no sense."""
    told = control.top_logprobs
    if told is None or divergence.position >= len(told):
        return None
    row = told[divergence.position]
    if len(row) < 2 or not all(math.isfinite(logprob) for logprob, _ in row[:2]):
        return None
    first, second = sorted(row, key=lambda pair: -pair[0])[:2]
    return Tie(best=first, second=second)


def excused(divergence: Divergence, tie: Tie, max_gap: float) -> bool:
    """Tell whether both outputs took one of two candidates that lie within `max_gap` of each other.

    Equal log-probabilities may be listed in either order, so the pair counts, not its order.
    """
    return tie.gap <= max_gap and {divergence.control_id, divergence.arm_id} == {tie.best[1], tie.second[1]}
