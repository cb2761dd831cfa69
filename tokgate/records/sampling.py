"""What the stop rule of a session decided: restarts beyond the plan, or an end to them."""

from __future__ import annotations

from .record import Record, Whole


class SamplingStep(Record):
    """One decision, written down before it is obeyed. Seconds are of the machine, from slate to slate."""

    round: Whole  # from 1
    stop: bool
    reason: str  # one sentence
    launches: tuple[str, ...] = ()  # the restarts that were asked for
    expected_s: float = 0.0  # what they were reckoned to take
    left_s: float  # of the budget, before they began
    budget_s: float
    unsettled: tuple[str, ...] = ()  # the questions that were open, in words
    hopeless: tuple[str, ...] = ()  # those that all that is left could not settle
