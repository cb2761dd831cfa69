"""What NCCL was asked for, and what became of it."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from .record import Record, Unread, Whole


class NcclLint(Record):
    """One thing that reading the NCCL settings of a rig tells before any GPU is touched.

    error: NCCL would refuse to initialise, or the setting contradicts itself: nothing is started.
    warning: NCCL ignores, cuts or replaces the value without failing, so the rig does not say what will
    happen. note: worth knowing, and as written.
    """

    variable: str  # NCCL_..., or another key of the rig, dotted: "server.args.tp_size"
    value: str | None  # as written; None: it is about the variable's absence, or about no value
    severity: Literal["error", "warning", "note"]
    what: str  # a sentence without a final full stop
    do: str  # a sentence without a final full stop
    source: (
        str  # where that is read: "NCCL 2.28.9 src/misc/param.cc ncclLoadParam", "SGLang 0.5.23 engine.py"
    )


class NcclTaken(Record):
    """One thing that NCCL said of a variable."""

    value: str  # as NCCL printed it: parsed, so that "4M" is 4
    line: int  # of the server's log, from 1
    text: str = ""  # the words after the value, where NCCL refused it


class NcclRank(Record):
    """What one rank's NCCL said of itself under NCCL_DEBUG=INFO."""

    rank: int
    pid: int
    node: Whole = 0  # whose log it spoke in
    messages: int  # NCCL lines of this process; 0: nothing follows from its silence
    complete: bool  # "Init COMPLETE" of a communicator of more than one rank
    accepted: dict[str, tuple[NcclTaken, ...]] = {}  # variable -> each other value that it said it took
    refused: dict[str, NcclTaken] = {}
    channels: int | None = None  # "N coll channels" of its largest communicator
    channels_line: int | None = None
    links: dict[str, int] = {}  # "P2P/IPC" -> connections that it set up
    algorithms: tuple[str, ...] | None = None  # allowed for AllReduce; None: this rank printed no matrix
    protocols: tuple[str, ...] | None = None
    matrix_line: int | None = None
    threads: dict[str, int] = {}  # "Ring/LL" -> most threads; printed by rank 0 only
    threads_line: int | None = None


class KernelUse(Record):
    """One GPU kernel of a profile, by name."""

    name: str
    calls: int
    total_us: float
    streams: tuple[int, ...] = ()
    in_steps: int = 0  # of `calls`, inside the steps that decode


class RankProfile(Record):
    """What one rank's torch profile shows of its GPU."""

    rank: int
    file: str  # relative to the run folder, or its name where it was not kept
    steps: int | None  # steps that decode; None: this trace marks none, so that every kernel counts
    nccl: tuple[KernelUse, ...] = ()
    instead: tuple[KernelUse, ...] = ()  # kernels that reduce between GPUs without NCCL
    kernels: int = 0  # launches in all: with none, nothing follows from NCCL's absence
    complete: bool = True
    unread: tuple[Unread, ...] = ()


class NcclProof(Record):
    """What the proof start brought home."""

    versions: tuple[str, ...] = ()
    ranks: tuple[NcclRank, ...] = ()  # one a process that spoke; two of them may claim the same rank
    profiles: tuple[RankProfile, ...] = ()
    why_no_profile: str | None = None
    warnings: tuple[Unread, ...] = ()  # NCCL WARN lines
    ran: tuple[str, ...] = ()  # "AllReduce RING/LL, 122 calls of 4 to 43008 bytes": what NCCL chose
    unread: tuple[Unread, ...] = ()


class NcclStage(StrEnum):
    WANTED = "wanted"
    EXEC = "exec environment"
    ACCEPTED = "accepted"
    EFFECTIVE = "effective"
    USED = "used"


class NcclMark(StrEnum):
    PROVEN = "proven"
    REFUTED = "refuted"
    SILENT = "silent"  # nothing is printed here by nature, and `words` say why that is no gap
    UNUSED = "unused"  # accepted, and nothing on the decode path asks for it
    UNKNOWN = "unknown"  # `words` say why


class NcclCell(Record):
    """One state of one variable in one rank."""

    stage: NcclStage
    mark: NcclMark
    value: str | None = None
    words: str  # can be followed by "in rank 3 only"
    evidence: str | None = None  # "server.log line 43: NCCL_P2P_LEVEL set by environment to SYS"


class NcclRow(Record):
    variable: str
    rank: int
    pid: int | None  # None: no process of this rank is known
    cells: tuple[NcclCell, ...]  # one a stage, in their order

    def cell(self, stage: NcclStage) -> NcclCell:
        return next(c for c in self.cells if c.stage is stage)


class NcclTruth(Record):
    """The NCCL block in five states, per variable and rank."""

    launch: str
    skipped: str | None = None  # the rig's reason for making no proof start
    ranks: tuple[int, ...] = ()
    rows: tuple[NcclRow, ...] = ()
    warnings: tuple[str, ...] = ()
    raw: tuple[str, ...] = ()


class NcclConfFile(Record):
    """A file on the host that sets what the environment leaves unset."""

    path: str
    variables: dict[str, str] = {}
    unread: tuple[Unread, ...] = ()


class NcclSources(Record):
    """What on the host answers NCCL's questions besides the environment."""

    files: tuple[NcclConfFile, ...] = ()  # in the order NCCL reads them: the first that names one counts
    plugins: tuple[str, ...] = ()  # libnccl-env.so and its like, where NCCL would find them
    unread: tuple[Unread, ...] = ()


class NcclLintReport(Record):
    """What was known of NCCL's settings before the first server, and the versions it was judged by."""

    nccl: str | None  # None: not known, judged as the newest release read
    sglang: str | None
    findings: tuple[NcclLint, ...] = ()
    sources: NcclSources | None = None  # None: no host was asked
