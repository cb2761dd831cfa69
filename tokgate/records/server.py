"""One launch of one server, and what is known of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from .host import ProcessSeen
from .record import Record, Unread, Whole

# Those from nccl-proof on are never timed against a stored baseline: a start under NCCL's debug lines, the control
# arm without the rig's NCCL block, an arm that carries the instruments of its phases, an arm with another setting
# of speculation, the control arm beside that, an arm on another side of a change (side.py), and that with instruments,
# and what a search for the part of a change that costs measures of it, base and head included.
Role = Literal[
    "control", "arm", "control-again", "restart",
    "nccl-proof", "nccl-off", "instrumented", "sweep", "sweep-control", "side", "side-phases",
    "culprit",
]  # fmt: skip


class Launch(Record):
    """One server run. `id` reads "01-baseline", that of a restart "07-baseline-restart-1"."""

    id: str
    arm: str
    role: Role
    round: Whole = 0  # of a restart: which decision of the stop rule asked for it; 0: planned
    workloads: tuple[str, ...] = ()  # what it takes, where that is not all of its rig; empty: all
    side: str | None = None  # whose tree it is started from (side.py); None: the SGLang that the rig names

    @property
    def stands_for_arm(self) -> bool:
        """Whether its numbers are numbers of the arm as the rig writes it."""
        return self.role in ("control", "arm", "control-again", "restart")

    @property
    def timed(self) -> bool:
        """Whether it is measured as the arm is, on whichever side of a change."""
        return self.stands_for_arm or self.role in ("side", "culprit")

    @property
    def carries(self) -> bool:
        """Whether it carries the instruments of its phases."""
        return self.role in ("instrumented", "side-phases")


class Addition(Record):
    """Something the gate adds to, or takes from, the rig's own line, and why."""

    what: str  # as shown, secrets replaced
    reason: str


class CommandLine(Record):
    """A server's shell line. `shown` is safe to print, `secret` is not."""

    shown: str
    argv: tuple[str, ...]  # python, -m, module, arguments; secrets replaced
    environment: dict[str, str]  # in front of the command, in order; secrets replaced
    additions: tuple[Addition, ...] = ()


class StartCause(StrEnum):
    PORT_TAKEN = "port-taken"
    DOES_NOT_FIT = "does-not-fit"
    KERNEL_MISSING = "kernel-or-arch-missing"
    RANK_DIED = "rank-died"
    CRASHED = "crashed"
    NO_PYTHON = "no-such-python"
    NO_MODULE = "no-such-module"
    NO_MODEL = "no-such-model"
    BAD_ARGUMENT = "argument-refused"
    LOG_NOT_WRITABLE = "log-not-writable"
    EMPTY_LOG = "empty-log"
    SILENT = "silent"  # it wrote something, then nothing, until the limit
    NOT_READY = "not-ready"  # it keeps writing but never answered a generation
    WRONG_SERVER = "wrong-server"  # something answers on the port, but not our process
    NO_SUPERVISOR = "no-supervisor"
    DOES_NOT_COMPILE = "does-not-compile"  # a file of a side of a change; no server was started


class StartFailure(Record):
    cause: StartCause
    headline: str
    do: str
    rc: int | None = None
    evidence: tuple[str, ...] = ()  # log lines that tell the cause
    log_tail: tuple[str, ...] = ()


class StopRecord(Record):
    asked: Literal["term", "none"]
    killed: bool  # KILL was needed
    seconds: float
    survivors: tuple[ProcessSeen, ...] = ()
    memory_back: bool | None = None  # None: no GPU to ask
    note: str | None = None


class VariableState(StrEnum):
    PRESENT = "present"
    DIFFERENT = "different"
    ABSENT = "absent"  # claimed only where erasure is ruled out
    ERASED = "erased"  # setproctitle has overwritten that memory: nothing can be said
    UNREADABLE = "unreadable"


class VariableTruth(Record):
    pid: int
    process: str  # "main", "scheduler TP0", "detokenizer", "resource tracker", or the comm
    variable: str
    wanted: str
    found: str | None
    state: VariableState
    node: Whole = 0  # as in ProcessSeen: a pid means something on its own machine only


class EnvironmentTruth(Record):
    processes: tuple[ProcessSeen, ...]
    rows: tuple[VariableTruth, ...]
    overwritten: dict[
        str, str
    ] = {}  # variables this SGLang version sets at run time itself -> what and where
    strays: dict[str, str] = {}  # variables in the main process that neither the rig nor the gate asked for
    unread: tuple[Unread, ...] = ()


class NodeRun(Record):
    """What runs on a further node of a server over several hosts. It serves no requests of its own."""

    node: Whole  # its --node-rank; node 0 is the ServerRun itself
    host: str
    line: CommandLine
    pid: int
    start_ticks: int
    sid: int
    mark: str
    passed: dict[str, str] = {}
    log_file: str  # as in ServerRun


class ServerRun(Record):
    launch: Launch
    host: str
    line: CommandLine
    port: int
    base_url: str  # as reached from the gate
    pid: int
    start_ticks: int
    sid: int
    mark: str
    started_at: str  # ISO 8601, UTC
    ready_after_s: float
    passed: dict[str, str] = {}  # variables taken over from the host's own environment
    log_file: str  # relative to the run folder once collected
    sglang_version: str | None = None
    server_info: dict[str, Any] = {}  # GET /server_info, secrets replaced
    warnings: tuple[str, ...] = ()
    nodes: tuple[NodeRun, ...] = ()  # the further ones, in order of rank


class GraphSteps(Record):
    """How many of a server's decode log lines say that their step ran in a graph."""

    on: Whole
    off: Whole
    unknown: Whole = 0  # lines of a version that does not say
    word: str | None = None  # "cuda graph", as printed; None where no line or several words name it

    @property
    def share(self) -> float | None:
        """0..1 of the lines that say; None where none does."""
        known = self.on + self.off
        return self.on / known if known else None


class Liveness(Record):
    """Asked right after the last generation of a launch."""

    alive: bool
    answered: bool  # one real generation came back
    why: str | None = None
