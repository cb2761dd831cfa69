"""The table of metrics: unit, direction, the smallest change worth calling, and how to print one."""

from __future__ import annotations

from typing import Literal

from tokgate.records.record import Record
from tokgate.rig.limits import Floor
from tokgate.rig.models import Rig


class Metric(Record):
    name: str
    unit: str
    better: Literal["higher", "lower"]
    relative_floor: float  # 0.03: a change below 3 % is never called
    absolute_floor: float  # in the unit; both floors must be exceeded
    decimals: int
    words: str  # as a headline begins: "decode 59.8 tok/s on …"
    scale: Literal["ratio", "difference"] = "ratio"  # compared as logarithms, or as they are
    stored: bool = True  # a baseline holds it; False: its launch is not one of those

    def text(self, value: float) -> str:
        return f"{value:.{self.decimals}f} {self.unit}"

    def bare(self, value: float) -> str:
        return f"{value:.{self.decimals}f}"

    def loss(self, change: float) -> float:
        """Turn a relative change into a loss: positive is worse, whichever way the metric points."""
        return -change if self.better == "higher" else change


# The relative floors lie below the smallest loss that must be seen (3 %, half as much again) and above what one server
# run differs from the next of the same server at one stream: 0.1 % on one GPU, 1 % on a quiet CPU; what differs by more
# takes more runs. First-token times carry the scheduler's poll and spread wider. The absolute floors keep tiny models on
# tiny machines from alarming over noise.
_TABLE = (
    Metric(
        name="decode_tok_s",
        unit="tok/s",
        better="higher",
        relative_floor=0.02,
        absolute_floor=0.5,
        decimals=1,
        words="decode",
    ),
    Metric(
        name="client_decode_tok_s",
        unit="tok/s",
        better="higher",
        relative_floor=0.02,
        absolute_floor=0.5,
        decimals=1,
        words="decode seen by the client",
    ),
    Metric(
        name="total_tok_s",
        unit="tok/s",
        better="higher",
        relative_floor=0.02,
        absolute_floor=0.5,
        decimals=1,
        words="total",
    ),
    Metric(
        name="ttft_ms",
        unit="ms",
        better="lower",
        relative_floor=0.10,
        absolute_floor=5.0,
        decimals=1,
        words="first token after",
    ),
    Metric(
        name="tpot_ms",
        unit="ms",
        better="lower",
        relative_floor=0.02,
        absolute_floor=0.1,
        decimals=2,
        words="time per output token",
    ),
    Metric(
        name="cycle_ms",
        unit="ms",
        better="lower",
        relative_floor=0.02,
        absolute_floor=0.1,
        decimals=2,
        words="cycle per verify call",
    ),
    Metric(
        name="accept_length",
        unit="tokens",
        better="higher",
        relative_floor=0.02,
        absolute_floor=0.02,
        decimals=2,
        words="accept length",
    ),
    Metric(
        name="e2e_ms",
        unit="ms",
        better="lower",
        relative_floor=0.02,
        absolute_floor=5.0,
        decimals=0,
        words="end to end",
    ),
    Metric(
        name="verify_ms",
        unit="ms",
        better="lower",
        relative_floor=0.02,
        absolute_floor=0.1,
        decimals=3,
        words="verify p50",
        stored=False,
    ),
    Metric(
        name="verify_p95_ms",
        unit="ms",
        better="lower",
        relative_floor=0.05,
        absolute_floor=0.2,
        decimals=3,
        words="verify p95",
        stored=False,
    ),
    Metric(
        name="verify_share",
        unit="of a cycle",
        better="lower",
        relative_floor=0.0,
        absolute_floor=0.01,
        decimals=3,
        words="verify takes",
        scale="difference",
        stored=False,
    ),
    Metric(
        name="token_ms",
        unit="ms",
        better="lower",
        relative_floor=0.05,
        absolute_floor=0.2,
        decimals=2,
        words="token p50",
        stored=False,
    ),
    Metric(
        name="token_p95_ms",
        unit="ms",
        better="lower",
        relative_floor=0.05,
        absolute_floor=0.5,
        decimals=2,
        words="token p95",
        stored=False,
    ),
    Metric(
        name="token_p99_ms",
        unit="ms",
        better="lower",
        relative_floor=0.10,
        absolute_floor=1.0,
        decimals=2,
        words="token p99",
        stored=False,
    ),
    Metric(
        name="chunk_gap_p95_ms",
        unit="ms",
        better="lower",
        relative_floor=0.05,
        absolute_floor=0.5,
        decimals=2,
        words="gap between chunks p95",
        stored=False,
    ),
    Metric(
        name="chunk_gap_p99_ms",
        unit="ms",
        better="lower",
        relative_floor=0.10,
        absolute_floor=1.0,
        decimals=2,
        words="gap between chunks p99",
        stored=False,
    ),
)

METRICS: dict[str, Metric] = {m.name: m for m in _TABLE}


def floor_of(rig: Rig, metric: Metric) -> Floor:
    """Return the rig's own floor for a metric, or the table's."""
    own = rig.floors.get(metric.name)
    return own or Floor(relative=metric.relative_floor, absolute=metric.absolute_floor)


def stored_floor_of(rig: Rig, metric: Metric) -> Floor:
    """Return the floor against what is stored, which a rig may set wider: other sessions, perhaps other machines."""
    floor = floor_of(rig, metric)
    return floor if floor.stored is None else floor.model_copy(update={"relative": floor.stored})


def floor_text(floor: Floor, metric: Metric) -> str:
    return f"{floor.relative:.1%} and {floor.absolute:g} {metric.unit}, both exceeded"


def throughput_metric(concurrency: int) -> Metric:
    """Return what speed means for a load: of one stream its decode rate, of many their sum."""
    return METRICS["decode_tok_s" if concurrency == 1 else "total_tok_s"]
