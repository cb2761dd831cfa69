"""What a comparison is asked, and what it concludes, as records."""

from __future__ import annotations

from typing import Literal

from tokgate.records import Outcome
from tokgate.records.record import Record

CONFIDENCE = 0.95  # of the interval that is printed; what decides is stricter

Kind = Literal["twin", "side", "stored", "limit"]


class Rule(Record):
    """What a metric asks of a comparison, and what the session gives it."""

    higher_is_better: bool
    ratio: bool = True  # of logarithms; False: plain differences, as of a share
    relative: float  # floors: both must be exceeded
    absolute: float
    level: float  # one-sided chance of a false alarm, over all looks
    miss: float = 0.05  # the chance to miss a loss of DETECT floors, over all looks
    look: int = 1  # 1, and 1 more for each time that more was measured after a look
    confirm: bool = True  # a loss is called only when restarts confirm it
    timed: bool = True  # a number that restarts may move; False: one that weights and prompts decide
    same_configuration: bool = True  # both sides are runs of one arm: what runs differ by is theirs together


class Wants(Record):
    """What would settle the comparison; all 0: nothing that can be measured in this session."""

    now: int = 0  # further server runs of this arm
    before: int = 0  # and of its twin
    sessions: int = 0  # further sessions in the stored baseline


class Decision(Record):
    """`change`, `interval`, `loss` and its bounds are relative to `before`; a loss is positive."""

    kind: Kind
    outcome: Outcome
    now: float  # in the metric's unit: the mean of the runs' values on the metric's scale
    before: float
    change: float
    interval: tuple[float, float]  # two-sided, CONFIDENCE
    loss: float
    low: float  # the loss is at least this, at `level`
    high: float  # and at most this, with the power of this look
    smallest: float  # the smallest loss that would have been called with that power
    p: float  # one-sided, of no loss
    level: float  # one-sided, of this look
    floor: float  # relative, the larger of both floors
    detect: float  # the loss that a pass excludes
    look: int
    runs_now: int
    runs_before: int
    sessions_before: int
    starts_now: int
    between_runs: float  # standard deviation of one run's value, on the metric's scale
    between_sessions: float | None  # None: not part of this comparison
    modes: float | None  # chance that two modes of restarts alone show this separation; None: not asked
    confirmed: bool
    # Relative: what the machine has moved by meanwhile; a loss called is surely larger. None: unknown, none is called.
    moved: float | None = 0.0
    wants: Wants = Wants()  # before the next look
    most: Wants = Wants()  # and with what may be wanted after it, if every further run shows the same
    notes: tuple[str, ...] = ()

    @property
    def established(self) -> bool:
        """Whether there is a loss at all, at the session's level, however small."""
        return self.low > 0
