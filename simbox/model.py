"""How long a step takes: the performance model.

One forward pass of the target on one rank:

    pass(tokens, batch) = kernels * batch ** batch_exponent          compute of one sequence, growing with the batch
                          * noise * heat * slow rank                 see noise.py and heat.py
                        + all_reduces * all_reduce(tokens)           an all-reduce: tuned cost + what NCCL lacks
                        + patch_ms                                   local debugging patches
                        + eager                                      when no CUDA graph is replayed

    all_reduce(tokens)  = (all_reduce_us + extra_us) * (1 + 0.1 * (tokens - 1)) * mode

A plain decode step is pass(1 token) + host. A speculative cycle is steps * draft_ms + verify + draft_extend + host,
where verify is a pass over the draft tokens. Ranks wait for each other in every all-reduce, so the slowest counts.

Calibrated to the incident (batch 1, TP 8, accept length 1.85, 2 draft steps):

    tuned decode       8.437 + 122 * 22.0 us + 0.14                       = 11.261 ms   88.8 tok/s
    untuned decode     8.437 + 122 * 59.8 us + 0.14                       = 15.873 ms   63.0 tok/s
    patched tree       11.261 + 0.904                                     = 12.165 ms   82.2 tok/s
    verify with graph  15.779 + 122 * 26.4 us                             = 19.00 ms
    its cycle          19.00 + 2 * 0.125 + 0.29 + 0.14                    = 19.68 ms    94.0 tok/s
    verify, no graph   19.00 + 10.65                                      = 29.65 ms
    its cycle          29.65 + 0.25 + 0.29 + 0.14 + 0.27                  = 30.60 ms    60.5 tok/s, verify 96.9 %
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from simbox.knobs import Knobs

# An all-reduce of more tokens carries more bytes: 43 KB at three tokens of hidden size 7168 are still latency-bound.
TOKEN_SHARE = 0.1
VERIFY_TOKENS = 3  # what verify_compute_ms was measured with


@dataclass(frozen=True)
class Shape:
    """What the server arguments make of the model. Without speculation `draft_tokens` is 0."""

    draft_steps: int
    draft_tokens: int
    graph_max_batch: int  # larger batches run without a graph; 0: no graphs at all
    verify_graph: bool


@dataclass(frozen=True)
class Rates:
    """What noise, heat, drift and each rank do to one step; all 1.0 on a perfect day."""

    kernels: float
    ranks: Sequence[tuple[float, float]]  # per rank: kernel factor, extra microseconds per all-reduce
    mode: float  # all-reduce factor of this server start


@dataclass(frozen=True)
class Step:
    """Milliseconds of one step by phase, and whether the target ran with a graph."""

    phases: dict[str, float]
    graph: bool

    @property
    def ms(self) -> float:
        """The whole step."""
        return sum(self.phases.values())


def decode_step(knobs: Knobs, shape: Shape, rates: Rates, batch: int) -> Step:
    """One plain decode step for `batch` sequences."""
    graph = batch <= shape.graph_max_batch
    target = _target(knobs, rates, knobs.decode_compute_ms, batch, 1)
    target += 0.0 if graph else knobs.eager_decode_ms
    return Step({"decode": target, "host": _host(knobs, rates, graph=graph)}, graph)


def speculative_step(knobs: Knobs, shape: Shape, rates: Rates, batch: int) -> Step:
    """One cycle: draft, verify, draft_extend, host."""
    graph = shape.verify_graph and batch <= shape.graph_max_batch
    kernels = knobs.verify_compute_ms * (shape.draft_tokens / VERIFY_TOKENS) ** knobs.token_exponent
    verify = _target(knobs, rates, kernels, batch, shape.draft_tokens)
    verify += 0.0 if graph else knobs.eager_verify_ms
    growth = batch ** (knobs.batch_exponent / 3)  # the drafter is one layer: its time is launches, not bytes
    drafter = knobs.draft_factor * rates.kernels * growth
    return Step(
        {
            "draft": shape.draft_steps * knobs.draft_ms * drafter,
            "verify": verify,
            "draft_extend": knobs.draft_extend_ms * drafter,
            "host": _host(knobs, rates, graph=graph),
        },
        graph,
    )


def prefill_step(knobs: Knobs, rates: Rates, new_tokens: int) -> Step:
    """One prefill of `new_tokens` tokens in all; never with a graph."""
    slowest = max(factor for factor, _ in rates.ranks)
    ms = knobs.prefill_ms + knobs.prefill_token_ms * max(0, new_tokens - 1)
    return Step({"prefill": ms * rates.kernels * slowest}, graph=False)


def _target(knobs: Knobs, rates: Rates, kernels: float, batch: int, tokens: int) -> float:
    growth: float = batch**knobs.batch_exponent
    compute = kernels * growth * rates.kernels
    size = (1 + TOKEN_SHARE * (tokens - 1)) * rates.mode
    # Each rank's kernels, then waiting for the slowest; the slowest link sets every all-reduce.
    slowest = max(factor for factor, _ in rates.ranks) * compute
    link = max(extra for _, extra in rates.ranks)
    together = knobs.all_reduces if len(rates.ranks) > 1 else 0
    return slowest + together * (knobs.all_reduce_us + link) * size / 1000 + knobs.patch_ms


def _host(knobs: Knobs, rates: Rates, *, graph: bool) -> float:
    return (knobs.host_ms + (0.0 if graph else knobs.eager_host_ms)) * rates.kernels
