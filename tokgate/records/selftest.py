"""What `tokgate selftest` found on a host: how often the gate's rule alarms over nothing, and which losses it sees."""

from __future__ import annotations

from typing import Literal

from .host import Difference, Fingerprint
from .record import Record, Whole


class Rate(Record):
    """`seen` of `of` independent trials; each bound is Clopper-Pearson's, one-sided, 95 %."""

    seen: Whole
    of: Whole
    low: float
    high: float


class Block(Record):
    """Barrier starts of one workload in one server run, all with the same loss planted."""

    workload: str
    planted: float  # the loss of throughput that was ordered, 0.05 for 5 %; 0: nothing
    order: str  # what the plugin was told
    values: dict[str, tuple[float, ...]] = {}  # per metric, one a start; empty where `fault` says why
    fault: str | None = None


class PlantedLaunch(Record):
    """One server run of a self-test, in the order of its blocks."""

    launch: str
    seconds: float  # from the clean slate to the end of the stop
    blocks: tuple[Block, ...]
    faults: tuple[str, ...] = ()


class Found(Record):
    """What the rule made of one planted loss; `planted` 0 is the A/A comparison."""

    workload: str
    metric: str
    planted: float
    # The loss measured inside the server runs, planted against not, with its 95 % interval. None: nothing was planted,
    # or there are fewer than two server runs.
    really: float | None
    really_interval: tuple[float, float] | None
    trials: Rate  # sessions of `session_runs` later server runs each, as far as they need them: called or not
    outcomes: tuple[str, ...]  # of the trials, in order
    resampled: tuple[Whole, Whole]  # seen, of: other choices of which runs stand for what; not independent
    alone: Rate  # each later server run by itself, before confirmation by restarts
    smallest: float | None  # median over trials: the smallest loss that such a session would have called


class SelfTest(Record):
    """Stored as selftests/<rig>/<id>.json; `tokgate selftest` writes it anew after each server run."""

    schema_number: Literal[1] = 1
    id: str
    rig: str
    simulated: bool
    arm: str
    workloads: tuple[str, ...]
    sglang_version: str | None
    started_at: str  # ISO 8601, UTC
    finished_at: str | None = None
    complete: bool = False
    why_incomplete: str | None = None
    tokgate_version: str
    tokgate_commit: str | None = None
    restarts: Whole  # server runs asked for
    baseline_runs: Whole
    session_runs: Whole
    levels: tuple[float, ...]
    false_alarm: float  # of a whole session, as the rig asks
    settings: dict[str, str]  # part of the rig -> hash: what the gate's noise and rule depend on
    fingerprint: Fingerprint
    launches: tuple[PlantedLaunch, ...] = ()
    alarms: Rate  # A/A: any metric of any workload called a loss
    found: tuple[Found, ...] = ()

    @property
    def seconds_a_run(self) -> float | None:
        times = [launch.seconds for launch in self.launches]
        return sum(times) / len(times) if times else None


class Qualification(Record):
    """What a report says of what this host's gate is known to see."""

    words: str  # one sentence
    qualified: bool
    id: str | None = None  # of the self-test
    alarms: Rate | None = None
    found: tuple[Found, ...] = ()
    since: tuple[Difference, ...] = ()  # facts of machine and software that have changed since
    do: str | None = None
