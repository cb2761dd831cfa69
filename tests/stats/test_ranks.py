"""One rank is named where it alone is slow by itself, and none otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tokgate.records.nccl import KernelUse
from tokgate.records.phases import Phase, PhaseReading, PhaseStart, TraceFacts
from tokgate.stats.ranks import slow_by_kernels, slow_rank


def readings(draft: Sequence[float], extend: Sequence[float]) -> list[PhaseReading]:
    return [
        PhaseReading(phase=phase, source="probe", clock="host", n=100, mean_ms=ms, p50_ms=ms, concurrency=1, rank=rank)
        for phase, took in ((Phase.DRAFT, draft), (Phase.DRAFT_EXTEND, extend))
        for rank, ms in enumerate(took)
    ]  # fmt: skip


def test_the_rank_whose_own_phases_stand_out_is_named() -> None:
    found = slow_rank(readings([0.254, 0.255, 0.317, 0.253], [0.294, 0.293, 0.369, 0.294]))
    assert found is not None
    assert (found.rank, found.own_ms, found.others_ms) == (2, (0.317, 0.369), (0.254, 0.294))
    assert found.words.startswith("rank 2 is slow by itself: it drafts for 0.317 ms and extends for 0.369 ms")


@pytest.mark.parametrize(
    ("draft", "extend"),
    [
        ([0.254, 0.255, 0.257, 0.253], [0.294, 0.293, 0.296, 0.294]),  # a healthy box
        ([0.254, 0.317, 0.318, 0.253], [0.294, 0.369, 0.370, 0.294]),  # two of them
        ([0.254, 0.255, 0.317, 0.253], [0.369, 0.293, 0.294, 0.294]),  # another one in each
        ([0.254, 0.255, 0.317, 0.253], [0.294, 0.293, 0.296, 0.294]),  # in one phase only
        ([0.254, 0.317], [0.294, 0.369]),  # which of two is the odd one?
        ([0.010, 0.010, 0.012, 0.010], [0.010, 0.010, 0.012, 0.010]),  # a clock's own steps
        ([], []),
    ],
)
def test_otherwise_none_is(draft: list[float], extend: list[float]) -> None:
    assert slow_rank(readings(draft, extend)) is None


def test_what_tells_no_median_or_no_rank_is_left_out() -> None:
    told = readings([0.254, 0.255, 0.317, 0.253], [0.294, 0.293, 0.369, 0.294])
    assert slow_rank([r.model_copy(update={"p50_ms": None}) for r in told]) is None
    assert slow_rank([r.model_copy(update={"rank": None}) for r in told]) is None


def test_a_busy_machine_does_not_hide_it_where_one_start_was_quiet() -> None:
    """Ranks' p50 in six starts while other programs wanted the cores: 0.34 ms and 0.30 are near, 0.317 and 0.253 are not."""
    noisy = readings([0.254, 0.300, 0.337, 0.267], [0.294, 0.361, 0.377, 0.306])
    quiet = {0: (0.253, 0.293), 1: (0.254, 0.294), 2: (0.317, 0.369), 3: (0.253, 0.294)}
    assert slow_rank(noisy) is None
    starts = [
        r.model_copy(
            update={
                "starts": tuple(
                    PhaseStart(batch=batch, n=17, mean_ms=ms, p50_ms=ms)
                    for batch, ms in enumerate((r.mean_ms, quiet[r.rank or 0][r.phase is Phase.DRAFT_EXTEND]))
                )
            }
        )
        for r in noisy
    ]
    found = slow_rank(starts)
    assert found is not None
    assert (found.rank, found.own_ms) == (2, (0.317, 0.369))


def traces(own: Sequence[float], waiting: Sequence[float], *, fused: float = 0.0) -> list[TraceFacts]:
    """One trace a rank, of 10 steps; `own`, `waiting`: ms a step, in collectives `fused` of it outside of NCCL."""
    return [
        TraceFacts(
            rank=rank,
            file=f"TP-{rank}.trace.json.gz",
            steps=10,
            span_ms=100.0,
            kernel_ms=10 * (mine + wait),
            busy_ms=90.0,
            idle_share=0.1,
            nccl_share=(wait - fused) / (mine + wait),
            instead=(
                KernelUse(name="cross_device_reduce_1stage", calls=1, total_us=fused * 10 * 1e3, in_steps=1),
            ),
        )
        for rank, (mine, wait) in enumerate(zip(own, waiting, strict=True))
    ]


def test_with_a_sharded_draft_model_the_kernels_of_the_slow_rank_tell() -> None:
    """Its step is as long as everybody's: the others fill it with waiting in NCCL, which by itself would point at them."""
    own, waiting = [5.0, 5.01, 4.99, 6.0, 5.0, 5.0, 5.02, 5.0], [1.3, 1.29, 1.31, 0.3, 1.3, 1.3, 1.28, 1.3]

    found = slow_by_kernels(traces(own, waiting, fused=0.1))
    assert found is not None
    assert found.rank == 3
    assert found.words.startswith(
        "rank 3 is slow by itself: its kernels outside of collectives take 6.000 ms a step"
    )
    assert "it spends 0.300 ms, the others, which wait for it, 1.300" in found.words


@pytest.mark.parametrize(
    ("own", "waiting", "rank"),
    [
        ([0.6778, 0.6783], [0.3451, 0.6919], None),  # two healthy H200, EAGLE-3, five steps profiled
        ([0.3426, 0.3411], [0.6164, 0.0997], None),  # the same two, the plain server
        ([0.3426, 0.4100], [0.6164, 0.0997], 1),  # of two, what the other waits for is the slower one
        ([5.0, 5.9, 6.0, 5.0], [1.0, 0.2, 0.1, 1.0], None),  # two of them
        ([5.0], [0.0], None),
    ],
)
def test_how_long_a_rank_waits_accuses_nobody(
    own: list[float], waiting: list[float], rank: int | None
) -> None:
    found = slow_by_kernels(traces(own, waiting))
    assert (found.rank if found is not None else None) == rank
