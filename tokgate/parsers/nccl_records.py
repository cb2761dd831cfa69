"""The records of nccl_info.py: what NCCL said about itself."""

from __future__ import annotations

from tokgate.records import Record, Unread


class NcclProcess(Record):
    """Who spoke: the head of every NCCL line, "host-a:760:812 [0]" without the thread."""

    host: str
    pid: int
    device: int  # the CUDA device current in the thread that spoke: the rank's own, in SGLang


class NcclSetting(Record):
    """One confirmation: this process read this variable so."""

    process: NcclProcess
    variable: str
    value: str  # as NCCL printed it: parsed ("4M" is 4) and without the full stop of some wordings
    line: int


class NcclRefusal(Record):
    """A value that NCCL replaced."""

    process: NcclProcess
    variable: str
    value: str
    why: str  # NCCL's words
    line: int


class NcclChannels(Record):
    process: NcclProcess
    collective: int
    collnet: int
    nvls: int
    p2p: int
    p2p_per_peer: int
    line: int


class NcclCommunicator(Record):
    process: NcclProcess
    address: str  # of the communicator in that process, "0x5639e9f0e8c0"
    rank: int
    ranks: int
    nodes: int | None  # only the "comm … nNodes" line says
    complete: bool  # "Init COMPLETE" was seen


class NcclChoice(Record):
    """What was run, at NCCL_DEBUG_SUBSYS=TUNING: it says what NCCL chose, never who made it choose."""

    function: str  # "AllReduce"
    algorithm: str  # "RING"
    protocol: str  # "LL"
    calls: int
    smallest_bytes: int
    largest_bytes: int


class NcclMatrix(Record):
    """The "Enabled NCCL Func/Proto/Algo Matrix": what may be chosen, per function.

    0 is off, 1 on; 2 is NCCL's own default for LL128 (on where the links allow it).
    """

    process: NcclProcess
    protocols: dict[str, dict[str, int]]  # "AllReduce" -> {"LL": 1, "LL128": 0, "Simple": 0}
    algorithms: dict[str, dict[str, int]]  # "AllReduce" -> {"Tree": 0, "Ring": 1, …}
    line: int

    def allowed(self, function: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
        """Return (algorithms, protocols) that are not off; None: the matrix has no such function."""
        if function not in self.algorithms:
            return None
        return (
            tuple(name for name, on in self.algorithms[function].items() if on),
            tuple(name for name, on in self.protocols[function].items() if on),
        )


class NcclSpeaker(Record):
    """What one process said beside its settings."""

    process: NcclProcess
    messages: int
    links: dict[str, int] = {}  # "P2P/CUMEM" -> connections that it set up


class NcclThreads(Record):
    """The "Max NThreads" table: of rank 0 only, under NCCL_DEBUG_SUBSYS=TUNING."""

    process: NcclProcess
    most: dict[str, int]  # "Ring/LL" -> 512; 0 where the pair cannot run
    line: int


class NcclReading(Record):
    versions: tuple[str, ...] = ()  # in NCCL's own words, "2.28.9+cuda13.0"; more than one is a finding
    sglang_says: str | None = None  # SGLang's line "sglang is using nccl==2.28.9"
    settings: tuple[NcclSetting, ...] = ()
    refusals: tuple[NcclRefusal, ...] = ()
    channels: tuple[NcclChannels, ...] = ()
    matrices: tuple[NcclMatrix, ...] = ()  # printed by rank 0 only, and only when algo or proto is restricted
    threads: tuple[NcclThreads, ...] = ()
    communicators: tuple[NcclCommunicator, ...] = ()
    speakers: tuple[NcclSpeaker, ...] = ()
    choices: tuple[NcclChoice, ...] = ()
    networks: tuple[str, ...] = ()  # "IB", "Socket"
    links: dict[str, int] = {}  # "P2P/CUMEM" -> connections
    nvls: bool | None = None  # multicast available, by NCCL's own word; None: it did not say
    nvls_heads: int = 0
    tuner: str | None = None  # "internal", or the plugin's name; None: it did not say
    warnings: tuple[Unread, ...] = ()  # NCCL WARN lines
    messages: int = 0  # NCCL lines in all; most are about topology and need no reader
    unread: tuple[Unread, ...] = ()  # lines that begin like one of the above and could not be read

    def values(self, variable: str) -> dict[str, tuple[NcclProcess, ...]]:
        """Return value -> the processes that confirmed it; empty: no process did."""
        found: dict[str, dict[NcclProcess, None]] = {}
        for setting in self.settings:
            if setting.variable == variable:
                found.setdefault(setting.value, {})[setting.process] = None
        return {value: tuple(processes) for value, processes in found.items()}
