from __future__ import annotations

from tests.parsers.traces import ALL_REDUCE, CUSTOM, GATHER, decode, kernel, trace
from tokgate.parsers.nccl_kernels import rank_profile
from tokgate.parsers.torch_trace import read_torch_trace


def test_nccls_kernels_are_told_from_those_that_reduce_in_its_place() -> None:
    events = [*decode(CUSTOM), kernel(GATHER, 1050.0)]
    profile = rank_profile(read_torch_trace([trace(events)]), rank=0, file="a.json")
    assert [(k.name, k.in_steps) for k in profile.nccl] == [(GATHER, 1)]
    assert [(k.name, k.in_steps) for k in profile.instead] == [(CUSTOM, 6)]
    assert (profile.steps, profile.kernels) == (3, 11)


def test_nccls_symmetric_kernels_read_no_algorithm() -> None:
    events = [kernel("ncclSymDevKernel_AllReduce_RSxLD_AGxST_sum_bf16(ncclSymDevArgs)", 1.0)]
    profile = rank_profile(read_torch_trace([trace(events)]), rank=0, file="a.json")
    assert (len(profile.nccl), len(profile.instead)) == (0, 1)


def test_the_trace_knows_its_rank_better_than_its_file_name() -> None:
    assert rank_profile(read_torch_trace([trace(decode(), rank=6)]), rank=1, file="a").rank == 6
    assert rank_profile(read_torch_trace([trace(decode(), rank=None)]), rank=1, file="a").rank == 1


def test_older_names_are_nccls_too() -> None:
    events = [kernel("ncclKernel_AllReduce_RING_LL_Sum_half(ncclWorkElem)", 1.0), kernel(ALL_REDUCE, 2.0)]
    assert len(rank_profile(read_torch_trace([trace(events)]), rank=0, file="a").nccl) == 2
