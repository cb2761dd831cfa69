"""What the machine did while it was measured: rows as they came, and what the windows saw of them.

A row is one line of launches/<id>/telemetry.jsonl. `at_ns` is the gate machine's monotonic clock, the one
that generations are stamped with; `seq` and `host_s` are the source's own count and clock, where it is a
program of its own, so that a stalled connection shows.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from .record import Record, Unread, Whole

# NVML's mask of clock event reasons (nvml.h, nvmlClocksEventReasons): names as nvidia-smi spells them.
REASONS = {
    0x001: "gpu_idle",
    0x002: "applications_clocks_setting",
    0x004: "sw_power_cap",
    0x008: "hw_slowdown",
    0x010: "sync_boost",
    0x020: "sw_thermal_slowdown",
    0x040: "hw_thermal_slowdown",
    0x080: "hw_power_brake_slowdown",
    0x100: "display_clock_setting",
}

# What the kernel counts in 64 bits.
Ticks = Annotated[int, Field(ge=0, lt=2**64)]


class GpuNow(NamedTuple):
    """One GPU at one moment; a list in JSON. None: the card or the driver does not say."""

    gpu: Whole  # its index
    sm_mhz: float | None
    memory_mhz: float | None
    celsius: float | None
    watts: float | None
    busy_percent: float | None
    reasons: int | None  # mask of REASONS


class Holding(NamedTuple):
    """One compute process on one GPU; a list in JSON."""

    gpu: Whole | None  # None: on a GPU that the first look did not know
    pid: Whole
    start_ticks: Whole | None  # None: no such process in the host's table
    used_mib: float | None
    name: str | None  # as the driver says


class GpuRow(Record):
    kind: Literal["gpus"] = "gpus"
    at_ns: Whole
    seq: Whole | None = None
    host_s: float | None = None
    gpus: tuple[GpuNow, ...]


class HolderRow(Record):
    """An answer to who computes; `holders` empty is an answer too."""

    kind: Literal["holders"] = "holders"
    at_ns: Whole
    seq: Whole | None = None
    host_s: float | None = None
    holders: tuple[Holding, ...]


class ProcessRow(Record):
    """Who a holder is, told once for each pid and start time."""

    kind: Literal["process"] = "process"
    at_ns: Whole
    pid: Whole
    start_ticks: Whole | None = None
    user: str | None = None
    command: str | None = None
    ours: bool | None = None  # of the server's process tree; None: not in the host's process table


class HostRow(Record):
    """`busy`, `steal` and `total` count clock ticks of all cores since boot (/proc/stat)."""

    kind: Literal["host"] = "host"
    at_ns: Whole
    seq: Whole | None = None
    host_s: float | None = None
    load1: float | None = None
    busy: Ticks | None = None  # user, nice, system, irq, softirq
    steal: Ticks | None = None  # what the hypervisor gave to somebody else
    total: Ticks | None = None


TelemetryRow = Annotated[GpuRow | HolderRow | ProcessRow | HostRow, Field(discriminator="kind")]


class Telemetry(Record):
    """How the watching of one launch went; its rows lie in telemetry.jsonl."""

    source: Literal["nvml", "nvidia-smi", "none"]  # of what is known of GPUs
    gpus: int  # that the rig says, on all nodes together
    period_s: float  # asked for
    rows: dict[str, int] = {}  # kind -> how many were kept
    hz: dict[str, float] = {}  # kind -> rows a second, from the first to the last
    dropped: int = 0  # rows beyond the file's limit
    missing: dict[str, str] = {}  # what no answer had -> why
    problems: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()  # the first few lines that made no sense
    wall_s: float | None = None
    cpu_s: float | None = None  # of the watching itself: our thread, or the program on the host
    nodes: tuple[Telemetry, ...] = ()  # of the further nodes, in order; their rows: telemetry-nodeN.jsonl


class Spread(Record):
    minimum: float
    median: float
    maximum: float


class GpuWindow(Record):
    """One GPU during one window. None: not told by any row."""

    index: int
    rows: int
    sm_mhz: Spread | None = None
    celsius_max: float | None = None
    watts_mean: float | None = None
    busy_percent_mean: float | None = None
    watts_last: float | None = (
        None  # of the last row that told it: where a window ended in a hang, that shows it
    )
    busy_percent_last: float | None = None
    reasons: dict[str, int] | None = None  # clock event reason -> rows in which it was active


class Stranger(Record):
    """A compute process that is not of the server's tree."""

    pid: Whole
    start_ticks: Whole | None
    gpus: tuple[int, ...]
    user: str | None = None
    command: str | None = None
    used_mib: float | None = None  # the largest on one GPU
    seen_after_s: float  # from the start of the window to the first answer that named it
    note: str | None = None


class Window(Record):
    """What was seen of the machine during one barrier start: from its first request to its last byte."""

    workload: str
    batch: int
    warmup: bool
    failed: bool  # a generation of it was not good
    start_ns: int
    end_ns: int
    gpus: tuple[GpuWindow, ...] = ()
    gap_s: float | None = None  # the longest time without a row; None: the rows do not enclose the window
    unknown: str | None = None  # why the rows do not tell what happened in it
    strangers: tuple[Stranger, ...] | None = None  # None: cannot be told, see strangers_unknown
    strangers_unknown: str | None = None
    host_busy: float | None = None  # share of all cores, 0 to 1
    host_steal: float | None = None
    load1: float | None = None  # the highest
    host_unknown: str | None = None


Quantity = Literal["sm_mhz", "watts", "celsius", "memory_mib", "host_busy"]


class Curve(Record):
    """One quantity over one launch, for people to look at: no verdict is computed from it.

    Units: MHz, W, °C, MiB of all compute processes together, share of all cores (0 to 1). A value of None breaks the
    line: no row told it, or none came for longer than a window may go without.
    """

    quantity: Quantity
    gpu: Whole | None  # None: of the host
    at_ns: tuple[Whole, ...]
    values: tuple[float | None, ...]
    n: Whole  # values that rows told: more than are kept where they were thinned


class HeldBack(Record):
    """A clock event reason that slows a card, from the first to the last of the rows without a break that had it."""

    gpu: Whole
    reason: str
    from_ns: Whole
    to_ns: Whole


class Curves(Record):
    curves: tuple[Curve, ...] = ()
    held_back: tuple[HeldBack, ...] = ()
