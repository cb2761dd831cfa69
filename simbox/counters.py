"""What the server counts and /metrics tells."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from simbox.model import Step

# Phase -> category of forward_execution_seconds_total.
CATEGORIES = {
    "prefill": "extend",
    "decode": "decode",
    "draft": "eagle_draft",
    "verify": "target_verify",
    "draft_extend": "eagle_draft_extend",
}

TTFT_BOUNDS = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0)
E2E_BOUNDS = (
    0.1,
    0.2,
    0.4,
    0.6,
    0.8,
    1.0,
    2.0,
    4.0,
    6.0,
    8.0,
    10.0,
    20.0,
    40.0,
    60.0,
    80.0,
    100.0,
    200.0,
    400.0,
)
ITL_BOUNDS = (
    0.002,
    0.004,
    0.006,
    0.008,
    0.01,
    0.015,
    0.02,
    0.025,
    0.03,
    0.035,
    0.04,
    0.06,
    0.08,
    0.1,
    0.2,
    0.4,
    1.0,
)


@dataclass
class Histogram:
    """A Prometheus histogram."""

    bounds: tuple[float, ...]
    buckets: list[int] = field(default_factory=list)
    total: float = 0.0
    count: int = 0

    def __post_init__(self) -> None:
        self.buckets = [0] * len(self.bounds)

    def add(self, value: float, times: int = 1) -> None:
        """Count a value, cumulatively as Prometheus wants it."""
        self.total += value * times
        self.count += times
        for index in range(len(self.bounds) - 1, -1, -1):
            if value > self.bounds[index]:
                break
            self.buckets[index] += times


@dataclass
class Counters:
    """All of it; plain sums since the start."""

    prompt_tokens: int = 0
    cached_tokens: int = 0
    generated_tokens: int = 0
    requests: int = 0
    aborted: int = 0
    verify_calls: int = 0  # a batch of 16 counts 16
    passes: Counter[str] = field(default_factory=Counter)  # by mode of cuda_graph_passes_total
    phase_s: defaultdict[str, float] = field(
        default_factory=lambda: defaultdict(float)
    )  # by category of forward_execution_seconds_total
    spec_steps: int = 0
    spec_tokens: int = 0
    last_throughput: float = 0.0
    last_accept_length: float = 0.0
    graph_now: bool = False
    responses: Counter[tuple[str, str]] = field(default_factory=Counter)  # by path and status
    ttft: Histogram = field(default_factory=lambda: Histogram(TTFT_BOUNDS))
    e2e: Histogram = field(default_factory=lambda: Histogram(E2E_BOUNDS))
    itl: Histogram = field(default_factory=lambda: Histogram(ITL_BOUNDS))

    def timed(self, step: Step) -> None:
        """Count what SGLang's device timer sees of a step: forward passes, so not the sampling at a verify's end."""
        for phase, ms in step.phases.items():
            if phase in CATEGORIES:
                passes = ms - step.sample_ms if phase == "verify" else ms
                self.phase_s[CATEGORIES[phase]] += passes / 1000
