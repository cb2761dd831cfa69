"""What a progress display shows at one moment; of the standard library alone, for the program that draws it."""

from __future__ import annotations

from dataclasses import dataclass

# How far a session is: its planned launches, then what the stop rule asks for.
PLANNED, DECIDING, RESTARTS, OVER = "planned", "deciding", "restarts", "over"


@dataclass(frozen=True, kw_only=True)
class View:
    """All that is shown at one moment. Times are seconds of one monotonic clock."""

    rig: str = ""
    simulated: bool = False
    began: float = 0.0  # the session
    launch: str | None = None
    number: int = 0  # of the launch in the plan, or of the restart, from 1; 0: not known
    planned: int = 0  # launches of the plan
    restart: bool = False
    launch_began: float | None = None
    stage: str | None = None  # None: nothing is under way
    workload: str | None = None
    done: int = 0  # generations of this workload in this launch
    of: int = 0
    streams: int = 1
    failed: int = 0  # generations of this launch
    tok_s: float | None = None  # of one stream, in its last barrier start
    accept_length: float | None = None
    phase: str = PLANNED
    restarts: int = 0  # that are asked for and not over; while the plan lasts 1 where any may follow
    ends_at: float | None = None  # when all that is known to come is likely to be over
    ends_by: float | None = None  # at the latest, where only a range is known
    share: float | None = None  # of the session, 0 to 1
