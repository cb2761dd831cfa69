"""How long a step takes: the performance model.

One forward pass of the target on one rank:

    pass(tokens, batch) = kernels * batch ** batch_exponent          compute of one sequence, growing with the batch
                          * noise * heat * slow rank                 see noise.py and heat.py
                        + all_reduces * all_reduce(tokens)           an all-reduce: tuned cost + what NCCL lacks
                        + patch_ms                                   local debugging patches
                        + eager                                      when no CUDA graph is replayed

    all_reduce(tokens)  = (all_reduce_us + extra_us) * (1 + 0.1 * (tokens - 1)) * mode

A plain decode step is pass(1 token) + host. A speculative cycle is steps * draft_ms + verify + draft_extend + host,
where verify is a pass over the draft tokens and then sample_ms of sampling, which is part of it. Each phase has a
factor of its own. Ranks wait for each other in every all-reduce, so the slowest counts. The drafter is not sharded:
each rank runs all of it and waits for none, so a slow rank drafts longer than the others, which wait for it in the
all-reduces of the verify that follows.

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

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

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
class Kernels:
    """Milliseconds that kernels run within one phase on one rank; what is left of the phase the GPU idles."""

    compute: float
    all_reduce: float = 0.0  # waiting for slower ranks included


@dataclass(frozen=True)
class Step:
    """Milliseconds of one step by phase as one rank sees it, and whether the target ran with a graph."""

    phases: dict[str, float]
    graph: bool
    kernels: dict[str, Kernels] = field(default_factory=dict)
    sample_ms: float = 0.0  # the part of verify that is sampling: no forward pass

    @property
    def ms(self) -> float:
        """The whole step, the same on every rank."""
        return sum(self.phases.values())


def decode_step(knobs: Knobs, shape: Shape, rates: Rates, batch: int, rank: int = 0) -> Step:
    """One plain decode step for `batch` sequences."""
    graph = batch <= shape.graph_max_batch
    target = _target(knobs, rates, knobs.decode_compute_ms, batch, 1)
    target += 0.0 if graph else knobs.eager_decode_ms
    target *= knobs.decode_factor
    idle = (knobs.patch_ms + (0.0 if graph else knobs.eager_decode_ms)) * knobs.decode_factor
    own = _own(rates, rank) * _compute(knobs, rates, knobs.decode_compute_ms, batch) * knobs.decode_factor
    return Step(
        {"decode": target, "host": _host(knobs, rates, graph=graph)},
        graph,
        {"decode": _kernels(rates, own, target - idle)},
    )


def speculative_step(knobs: Knobs, shape: Shape, rates: Rates, batch: int, rank: int = 0) -> Step:
    """One cycle: draft, verify, draft_extend, host."""
    graph = shape.verify_graph and batch <= shape.graph_max_batch
    kernels = knobs.verify_compute_ms * (shape.draft_tokens / VERIFY_TOKENS) ** knobs.token_exponent
    verify = _target(knobs, rates, kernels, batch, shape.draft_tokens)
    verify += 0.0 if graph else knobs.eager_verify_ms
    verify *= knobs.verify_factor
    idle = (knobs.patch_ms + (0.0 if graph else knobs.eager_verify_ms)) * knobs.verify_factor
    growth = batch ** (knobs.batch_exponent / 3)  # the drafter is one layer: its time is launches, not bytes
    drafter = rates.kernels * growth
    draft = shape.draft_steps * knobs.draft_ms * knobs.draft_factor * drafter
    extend = knobs.draft_extend_ms * knobs.draft_extend_factor * drafter
    mine, slowest = _own(rates, rank), max(factor for factor, _ in rates.ranks)
    verify += (slowest - mine) * (draft + extend)
    own = mine * _compute(knobs, rates, kernels, batch) * knobs.verify_factor
    return Step(
        {
            "draft": draft * mine,
            "verify": verify,
            "draft_extend": extend * mine,
            "host": _host(knobs, rates, graph=graph),
        },
        graph,
        {
            "draft": Kernels(draft * mine),
            "verify": _kernels(rates, own, verify - idle),
            "draft_extend": Kernels(extend * mine),
        },
        sample_ms=min(knobs.sample_ms * knobs.verify_factor, own),
    )


def every_rank(
    model: Callable[[Knobs, Shape, Rates, int, int], Step],
    knobs: Knobs,
    shape: Shape,
    rates: Rates,
    batch: int,
) -> list[Step]:
    """Return a step as each rank sees it: one object for all whose kernels are equally fast."""
    seen: dict[float, Step] = {}
    for rank, (factor, _) in enumerate(rates.ranks):
        if factor not in seen:
            seen[factor] = model(knobs, shape, rates, batch, rank)
    return [seen[factor] for factor, _ in rates.ranks]


def prefill_step(knobs: Knobs, rates: Rates, new_tokens: int) -> Step:
    """One prefill of `new_tokens` tokens in all; never with a graph."""
    slowest = max(factor for factor, _ in rates.ranks)
    ms = knobs.prefill_ms + knobs.prefill_token_ms * max(0, new_tokens - 1)
    ms *= rates.kernels * slowest
    return Step(
        {"prefill": ms},
        graph=False,
        kernels={"prefill": Kernels(ms * 0.8, ms * 0.2 if len(rates.ranks) > 1 else 0.0)},
    )


def _own(rates: Rates, rank: int) -> float:
    return rates.ranks[rank][0]


def _compute(knobs: Knobs, rates: Rates, kernels: float, batch: int) -> float:
    growth: float = batch**knobs.batch_exponent
    return kernels * growth * rates.kernels


def _kernels(rates: Rates, own: float, busy: float) -> Kernels:
    """`own`: compute of this rank; what the pass is busy beyond it, it spends in all-reduces."""
    return Kernels(own, busy - own) if len(rates.ranks) > 1 else Kernels(busy)


def _target(knobs: Knobs, rates: Rates, kernels: float, batch: int, tokens: int) -> float:
    compute = _compute(knobs, rates, kernels, batch)
    size = (1 + TOKEN_SHARE * (tokens - 1)) * rates.mode
    # Each rank's kernels, then waiting for the slowest; the slowest link sets every all-reduce.
    slowest = max(factor for factor, _ in rates.ranks) * compute
    link = max(extra for _, extra in rates.ranks)
    together = knobs.all_reduces if len(rates.ranks) > 1 else 0
    return slowest + together * (knobs.all_reduce_us + link) * size / 1000 + knobs.patch_ms


def _host(knobs: Knobs, rates: Rates, *, graph: bool) -> float:
    return (knobs.host_ms + (0.0 if graph else knobs.eager_host_ms)) * rates.kernels * knobs.host_factor
