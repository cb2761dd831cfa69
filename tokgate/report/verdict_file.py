"""verdict.json as a record: what all reports of a run show. Unknown is null, never 0 or an empty text."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tokgate.records import (
    Addition,
    CleanSlate,
    Difference,
    Fingerprint,
    Record,
    Role,
    RunInfo,
    StartFailure,
    VariableTruth,
    Verdict,
)
from tokgate.records.nccl import NcclTruth
from tokgate.records.phases import PhaseTable
from tokgate.records.selftest import Qualification
from tokgate.verdicts.culprit import CulpritTable
from tokgate.verdicts.diagnosis.cause import Diagnosis
from tokgate.verdicts.sweep_best import SweepTable

from .arithmetic import Arithmetic
from .arms import ArmRow
from .conclusion import PartJudged, SessionOutcome
from .fleet_table import FleetTable
from .gain import Gain
from .patch_report import PatchReport
from .sampling import Sampled
from .series import Series
from .since_baseline import SinceBaseline
from .telemetry import WatchedLaunch


class LaunchSummary(Record):
    """One server run: how it was started and how it ended."""

    launch: str
    arm: str
    role: Role
    side: str | None = None  # of a change: whose tree it ran from
    host: str | None = None  # of a pool, by its name; None: the session has one host
    line: str | None  # the shell line as launched, secrets replaced; None: not recorded
    additions: tuple[Addition, ...] = ()
    sglang_version: str | None = None
    ready_after_s: float | None = None
    failure: StartFailure | None = None
    alive_at_end: bool | None = None  # None: nobody asked
    stopped_after_s: float | None = None
    generations: dict[str, int] = {}  # status -> how many, warm-ups not counted
    faults: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class EnvironmentSummary(Record):
    """Environment truth of one launch; the whole matrix lies in launches/<id>/environment.json."""

    launch: str
    processes: int
    variables: int
    states: dict[str, int]  # present, different, absent, erased, unreadable -> cells
    open_cells: tuple[VariableTruth, ...] = ()  # every cell that is not `present`
    overwritten: dict[str, str] = {}
    strays: dict[str, str] = {}


class Differing(Record):
    """A setting or fact that differs from what a verdict was compared with."""

    check: str
    arm: str | None
    reference: str | None
    difference: Difference


class VerdictFile(Record):
    """The result of one gate session. Unknown is null, never 0 or an empty text."""

    schema_number: Literal[1] = 1
    simulated: bool = Field(description="a simulated machine: never to be compared with a real one")
    outcome: SessionOutcome
    exit_code: int
    headline: str
    do: str | None = Field(description="what to do next; null only when nothing is to be done")
    run: RunInfo
    rig_description: str
    verdicts: tuple[Verdict, ...] = Field(description="worst first")
    diagnosis: Diagnosis = Field(
        Diagnosis(),
        description="which causes the losses and faults are consistent with, in the order to look at them",
    )
    arms: tuple[ArmRow, ...]
    arithmetic: tuple[Arithmetic, ...] = Field(
        (), description="of each EAGLE-3 arm and workload: what its cycles make, and what would break even"
    )
    gains: tuple[Gain, ...] = Field(
        (), description="speed-up over the twin by concurrency, and the measured level where it stops winning"
    )
    since_baseline: tuple[SinceBaseline, ...] = Field(
        (),
        description="of each EAGLE-3 arm and workload with a stored baseline: the change of decode tok/s in log "
        "shares of acceptance, draft, verify, extend and rest",
    )
    patch: PatchReport | None = Field(
        None,
        description="the change to SGLang that was measured against its base, with both answers; null: none was measured",
    )
    series: tuple[Series, ...] = Field(description="every value per launch, workload and metric")
    launches: tuple[LaunchSummary, ...]
    environment: tuple[EnvironmentSummary, ...]
    nccl: NcclTruth | None = Field(
        None,
        description="the NCCL block in five states; null without a block, or on fewer than two GPUs, and of a pool, where fleet.nccl "
        "has one a host",
    )
    phases: tuple[PhaseTable, ...] = Field(
        (),
        description="where the time of a cycle goes, per launch and source; nobody looked where a launch is missing",
    )
    culprit: CulpritTable | None = Field(
        None,
        description="which part of a change costs what, as far as a search has told; null where none was made",
    )
    sweep: SweepTable | None = Field(
        None, description="steps x topk x draft tokens and the best of them; null where no sweep was made"
    )
    sampling: Sampled | None = Field(
        None,
        description="what was measured beyond the plan, decision by decision of the stop rule, with reason and cost; "
        "null where no number was asked for",
    )
    slates: tuple[CleanSlate, ...] = Field(description="before, between and after the launches")
    telemetry: tuple[WatchedLaunch, ...] = Field((), description="what the machine did while it was measured")
    fingerprint: Fingerprint | None
    differences: tuple[Differing, ...]
    qualification: Qualification | None = Field(
        None, description="what a self-test showed this host's gate to see; null: nobody asked"
    )
    part: PartJudged | None = Field(
        None,
        description="a part of a stored run, judged again: what was asked for now, and how the run itself ended; null: "
        "the run as it was asked for",
    )
    fleet: FleetTable | None = Field(
        None,
        description="of a pool: which host measured what, which were left out or lost and why, how far they lie apart; "
        "arms and launches are then named ARM@HOST; null: the session has one host",
    )
    unclassified: tuple[str, ...] = Field(description="tests that failed without a verdict that says so")


def truths_of(file: VerdictFile) -> tuple[NcclTruth, ...]:
    """Return the NCCL block's states in this run: those of each host of a pool, or the one of its host."""
    if file.fleet is not None:
        return file.fleet.nccl
    return (file.nccl,) if file.nccl is not None else ()
