"""What a session tells of itself while it runs: what it will do, and where it stands.

Told between the windows of measurement and never inside one. Nothing is judged by it, and nothing of it is kept as
evidence: a display shows it, and an xdist worker hands it to the process that has the terminal.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from .record import Record


class Stage(StrEnum):
    OPENING = "looking at the host"
    CLEAN_SLATE = "clean slate"
    STARTING = "starting"
    ENVIRONMENT = "environment"
    PROFILES = "NCCL profiles"
    WARM_UP = "warm-up"
    MEASURING = "measuring"
    EXTRA = "extra starts"  # of a workload whose starts spread too far
    PROBE_COST = "probe on/off"
    TRACES = "phase traces"
    STOPPING = "stopping"


class Span(Record):
    """Seconds: from the least to the most. `likely` is None where nothing says what lies between.

    `limit`: where low and high are what is usual elsewhere, the most that the rig's own time limits allow; else None.
    """

    low: float
    likely: float | None
    high: float
    limit: float | None = None


class PlannedWork(Record):
    """The generations of one workload in one launch."""

    workload: str
    generations: int  # warm-ups included, and the starts that tell what the probe costs
    output_tokens: int  # of all of them


class PlannedLaunch(Record):
    launch: str
    arm: str
    work: tuple[PlannedWork, ...] = ()
    seconds: Span  # from clean slate to stop
    taking_s: float | None = None  # of it in barrier starts; None: nothing is known of how fast it is


class PlannedRestarts(Record):
    """What the stop rule may add. `least`: launches in any case, of all arms together; `most`: at most, with those."""

    least: int
    most: int
    least_s: float  # reckoned; 0 where nothing says how long they take
    most_s: float  # sampling.gpu_time_s


class SessionPlan(Record):
    """What this selection makes a session do, in order, and what it leaves out."""

    rig: str
    simulated: bool
    gpus: int
    launches: tuple[PlannedLaunch, ...]
    restarts: PlannedRestarts | None = None  # None: nothing of this selection is ever restarted
    seconds: Span  # of the whole session, restarts in any case included, those that may be added not
    gpu_seconds: Span  # of its launches alone, times GPUs; 0 without GPUs
    basis: str  # where the seconds come from
    details: tuple[str, ...] = ()  # of launches with instruments, of a sweep
    left_out: tuple[str, ...] = ()  # launches that the rig has and this selection does not ask for
    tests: int = 0
    deselected: int = 0


class PlanMade(Record):
    kind: Literal["plan"] = "plan"
    plan: SessionPlan


class Words(Record):
    """A sentence that stays on the screen. `steps`: the next steps of verdicts that it tells beforehand."""

    kind: Literal["words"] = "words"
    text: str
    steps: tuple[str, ...] = ()


class StageBegan(Record):
    """`generations`: how many the workload will make in this launch, 0 where it has none."""

    kind: Literal["stage"] = "stage"
    stage: Stage
    launch: str | None = None
    workload: str | None = None
    generations: int = 0


class StartTaken(Record):
    """One barrier start is over."""

    kind: Literal["taken"] = "taken"
    stage: Stage
    launch: str
    workload: str
    generations: int  # so far, of this workload in this launch
    of: int  # as planned; extra starts go beyond
    streams: int
    failed: int = 0  # of this start
    tok_s: float | None = None  # of one stream, the median of this start's
    accept_length: float | None = None  # the mean of this start's


class LaunchEnded(Record):
    kind: Literal["ended"] = "ended"
    launch: str
    seconds: float | None = None  # None: it broke off
    started: bool = True  # False: no server was: the machine was not clean, or another launch showed that none would start


class AskedRestart(Record):
    launch: str
    seconds: float  # as reckoned; 0 where nothing says how long it takes


class RestartsDecided(Record):
    """What the stop rule asks for now, once the planned launches are over. None: no further restart is made."""

    kind: Literal["restarts"] = "restarts"
    launches: tuple[AskedRestart, ...] = ()


class Judged(Record):
    """A test whose verdict is no pass, told by the process that has the terminal."""

    kind: Literal["judged"] = "judged"
    outcome: str
    reason: str


class SessionOpened(Record):
    """Nothing is under way before the next stage begins."""

    kind: Literal["opened"] = "opened"


ProgressEvent = Annotated[
    PlanMade | Words | StageBegan | StartTaken | LaunchEnded | RestartsDecided | Judged | SessionOpened,
    Field(discriminator="kind"),
]
EVENTS: TypeAdapter[ProgressEvent] = TypeAdapter(ProgressEvent)
