"""Where the time of a decode step goes: each phase as each source tells it, and whether the sources agree."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from .nccl import KernelUse
from .record import Record, Unread


class Phase(StrEnum):
    """Of a cycle, which drafts, verifies the drafts and extends the draft model by what was accepted."""

    DRAFT = "draft"
    VERIFY = "verify"
    DRAFT_EXTEND = "draft_extend"
    REST = "rest"  # what is left of a step when its three phases are taken away
    DECODE = "decode"  # a whole step without speculation
    STEP = "step"  # a whole cycle


PhaseSource = Literal["cycle", "device-timer", "probe", "trace"]
GraphSource = Literal["decode-log", "pass-counter", "probe", "trace"]


class PhaseStart(Record):
    """The calls of one phase during one barrier start: they share the machine and its moment."""

    batch: int
    n: int
    mean_ms: float
    p50_ms: float
    p95_ms: float | None = None  # None: too few calls


class PhaseReading(Record):
    """One phase of one launch by one source, in milliseconds a call.

    clock: "gpu" is time of the GPU's own stream, "host" time of the call on the host, "wall" time as a client waits
    for it. `concurrency` is what was asked for together; `requests` narrows a reading down to the calls that had
    so many requests in their batch.
    """

    phase: Phase
    source: PhaseSource
    clock: Literal["gpu", "wall", "host"]
    n: int  # calls; of source "cycle" generations, each a mean of its own cycles
    mean_ms: float
    p50_ms: float | None = None  # None: the source tells sums only, or there are too few calls
    p95_ms: float | None = None
    sd_ms: float | None = None  # of single calls; None: the source tells sums only, or one call
    busy_ms: float | None = None  # of a trace: mean time with a kernel at work; the rest of mean_ms are gaps
    concurrency: int
    workload: str | None = None
    rank: int | None = None  # None: not told, or of all ranks
    requests: int | None = None  # None: all calls, whatever their batch
    graph_share: float | None = None  # of the calls that tell; None: none does
    cost: str | None = None  # what measuring with this source costs
    starts: tuple[PhaseStart, ...] = ()  # (): the source tells no single calls, or `requests` is set
    # Of a verify by the probe: what at most each share of SHARES (stats/phases.py) of its calls took, calls that were
    # measured each. For charts; verdict.json leaves it out.
    quantiles_ms: tuple[float, ...] = ()
    warnings: tuple[str, ...] = ()
    unread: tuple[Unread, ...] = ()


class GraphReading(Record):
    """How many of the decode or verify steps ran in a graph, by one source."""

    source: GraphSource
    share: float | None  # None: unknown, and `why` says so
    n: int  # steps (of "decode-log": lines) that were counted
    concurrency: int | None = None  # None: all that ran
    why: str | None = None


class GraphTruth(Record):
    """CUDA graphs of one launch. Without a captured graph of its size a batch runs eagerly."""

    readings: tuple[GraphReading, ...] = ()
    sizes: tuple[int, ...] | None = None  # batches, in requests, that were captured; (): none; None: not told
    padded: bool = True  # a batch between two sizes runs in the larger one's graph
    captured_by: str | None = None  # which graph, and where that was read
    why_not_told: str | None = None  # set where `sizes` is None

    @property
    def largest(self) -> int | None:
        """Requests of the largest captured batch; 0: nothing was captured; None: not told."""
        return None if self.sizes is None else max(self.sizes, default=0)

    def covers(self, concurrency: int) -> bool | None:
        """Whether a batch of so many requests has a graph to run in; None: not told."""
        if self.sizes is None or self.largest is None:
            return None
        return concurrency <= self.largest if self.padded else concurrency in self.sizes


class ProbeCost(Record):
    """What the probe costs, by its switch: starts of the same prompts with it on and off, in one server run.

    `slowdown` and `interval` are decode time with it on / off - 1: 0.002 is 0.2 % slower. `why` says why there is no
    interval, or why it tells nothing of the probe.
    """

    workload: str
    concurrency: int
    pairs: int
    slowdown: float | None = None  # median of the pairs
    interval: tuple[float, float] | None = None
    confidence: float = 0.95
    by: str | None = None  # what was compared: "decode seconds a verify call"
    calls_on: int = 0  # calls that the probe recorded in the starts with it on
    calls_off: int = 0  # and off: the switch works where there is none
    why: str | None = None

    @property
    def words(self) -> str:
        """The cost in one phrase, "below 0.31 % (…)", or "unknown: …"."""
        if self.why is not None or self.interval is None or self.slowdown is None:
            return f"unknown: {self.why or 'not measured'}"
        low, high = self.interval
        found = f"between {low:.2%} and {high:.2%}" if low > 0 else f"below {max(high, 0.0):.2%}"
        return (
            f"{found} of decode time (median {self.slowdown:+.2%}, {self.confidence:.0%} interval {low:+.2%} to "
            f"{high:+.2%}, {self.pairs} pairs on and off)"
        )


class TraceFacts(Record):
    """What the torch profile of one rank shows of its GPU, inside the steps that decode."""

    rank: int | None
    file: str
    steps: int
    span_ms: float  # from the first step's begin to the last one's end
    kernel_ms: float  # sum over kernels; parallel streams count twice
    busy_ms: float  # time with at least one kernel, copy or fill
    idle_share: float  # of span_ms
    nccl_share: float  # of kernel_ms
    nccl: tuple[KernelUse, ...] = ()
    instead: tuple[KernelUse, ...] = ()  # kernels that reduce between GPUs without NCCL
    graph_launches: int = 0
    complete: bool = True
    unread: tuple[Unread, ...] = ()


class Agreement(Record):
    """Two numbers that ought to be the same thing, and whether they are."""

    name: str  # "sum of phases (device-timer) against the cycle"
    concurrency: int
    workload: str | None = None
    first_ms: float
    second_ms: float
    apart: float  # first / second - 1
    limit: tuple[float, float]  # `apart` beyond these is no agreement
    agrees: bool
    reason: str  # why the limits are where they are
    words: str


class PhaseTable(Record):
    """All that is known of one launch's phases."""

    launch: str
    readings: tuple[PhaseReading, ...] = ()
    unknown: dict[str, str] = {}  # source -> why it tells nothing
    graphs: GraphTruth | None = None  # None: nobody looked
    traces: tuple[TraceFacts, ...] = ()
    cost: ProbeCost | None = None  # None: no probe was carried
    agreements: tuple[Agreement, ...] = ()

    def find(
        self,
        phase: Phase,
        source: PhaseSource,
        *,
        concurrency: int | None = None,
        workload: str | None = None,
    ) -> tuple[PhaseReading, ...]:
        """Return the readings over all batch sizes; None leaves a condition out."""
        return tuple(
            r
            for r in self.readings
            if r.phase is phase
            and r.source == source
            and r.requests is None
            and (concurrency is None or r.concurrency == concurrency)
            and (workload is None or r.workload == workload)
        )
