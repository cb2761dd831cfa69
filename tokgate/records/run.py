"""One gate session, as it lies in its run folder."""

from __future__ import annotations

from .generation import Generation
from .host import CleanSlate, Fingerprint
from .nccl import NcclProof
from .phases import PhaseTable
from .record import Record, Whole
from .sample import Sample
from .sampling import SamplingStep
from .server import EnvironmentTruth, GraphSteps, Launch, Liveness, ServerRun, StartFailure, StopRecord
from .side import SideProof, SidesMade
from .telemetry import Curves, Telemetry, Window


class RunInfo(Record):
    schema_number: int = 1
    run_id: str
    rig: str
    simulated: bool
    started_at: str  # ISO 8601, UTC
    finished_at: str | None = None
    cut_short: int | None = (
        None  # pytest's status where the session did not come to its end: 2 interrupted, 3 internal error
    )
    command: str  # as typed
    report_dir: str | None = None  # where run folders were put, as typed; None: reports/ of the checkout
    selection: str  # pytest arguments that select the same tests again
    narrowed_by: tuple[str, ...] = ()  # options that left out tests beyond that: "--deselect NODE"
    promises: str = (
        "perf_tests"  # pytest arguments that name all of tokgate's promises, from where it was run
    )
    tokgate_version: str
    tokgate_commit: str | None = None  # of its checkout; None: an installed copy, or no git
    repository_commit: str | None = None  # of the repository that an installed tokgate was used from
    fault: tuple[str, str, str] | None = None  # tried, found, do: why the session could not begin

    @property
    def asked(self) -> str:
        """What the session was asked for, with what left tests out of that: whether it was the whole gate."""
        return " ".join((self.selection, *self.narrowed_by))

    @property
    def commit(self) -> str | None:
        """What the session ran from: the repository that uses tokgate, else tokgate's own checkout."""
        return self.repository_commit or self.tokgate_commit


class ClientLoad(Record):
    """The measuring side's own part in one workload."""

    cpu_s: float  # of the client, during the window
    wall_s: float
    events: Whole
    lag_p99_ms: float | None = None
    ceiling_events_per_s: float | None = None  # what this client can take on this machine, measured


class LeftOut(Record):
    """Why a launch was not made, or nothing measured in it, though it was asked for: nothing could be concluded from it."""

    why: str
    do: str


class LaunchEvidence(Record):
    """Everything one server run left behind; a launch that failed has a failure and no generations."""

    launch: Launch
    server: ServerRun | None = None
    failure: StartFailure | None = None
    left_out: LeftOut | None = None  # with a server: that was started, and not measured
    slate: CleanSlate | None = None
    environment: EnvironmentTruth | None = None
    nccl: NcclProof | None = None  # of the proof start only
    without: EnvironmentTruth | None = None  # what a launch goes without, looked for in its processes
    ran_from: SideProof | None = (
        None  # of a launch that was started from a side; None: it was not, or did not start
    )
    generations: tuple[Generation, ...] = ()
    samples: tuple[Sample, ...] = ()
    client: dict[str, ClientLoad] = {}  # per workload
    telemetry: Telemetry | None = None  # None: nobody watched
    windows: tuple[Window, ...] = ()  # computed from generations and telemetry.jsonl, in the order of time
    curves: Curves = Curves()  # for charts; computed, like `windows`
    phases: PhaseTable | None = None  # None: nobody looked; computed, like `windows`
    graph: GraphSteps | None = None  # from server.log once it is collected; None: nobody looked
    liveness: Liveness | None = None  # None: the launch has not been finished
    stop: StopRecord | None = None
    wall_s: float | None = (
        None  # from the first look at the machine until the server is gone; None: broken off
    )
    faults: tuple[str, ...] = ()  # bench faults met while measuring, in words
    notes: tuple[str, ...] = ()


class RunEvidence(Record):
    info: RunInfo
    launches: tuple[LaunchEvidence, ...] = ()
    fingerprint: Fingerprint | None = None
    slate_at_start: CleanSlate | None = None
    slate_at_end: CleanSlate | None = None
    sampling: tuple[SamplingStep, ...] = ()  # what the stop rule decided, in order
    search: tuple[
        SamplingStep, ...
    ] = ()  # what a search for the part of a change that costs decided, in order
    sides: SidesMade | None = None  # None: the SGLang that the rig names, and no other
