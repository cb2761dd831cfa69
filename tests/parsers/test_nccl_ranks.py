from __future__ import annotations

from pathlib import Path

from tokgate.parsers.nccl_info import read_nccl
from tokgate.parsers.nccl_ranks import nccl_ranks
from tokgate.records.nccl import NcclRank

DATA = Path(__file__).parent / "data" / "nccl_info"


def ranks(case: str) -> tuple[NcclRank, ...]:
    return nccl_ranks(read_nccl((DATA / f"{case}.log").read_text()))


def test_what_was_said_belongs_to_the_rank_whose_process_said_it() -> None:
    zero, one = ranks("tuned_two_ranks")
    assert (zero.rank, zero.pid, one.rank, one.pid) == (0, 901, 1, 902)
    assert sorted(zero.accepted) == [
        "NCCL_ALGO",
        "NCCL_CUMEM_ENABLE",
        "NCCL_MAX_NCHANNELS",
        "NCCL_P2P_LEVEL",
        "NCCL_PROTO",
    ]
    assert sorted(one.accepted) == ["NCCL_ALGO", "NCCL_P2P_LEVEL", "NCCL_PROTO"]
    assert [taken.value for taken in one.accepted["NCCL_PROTO"]] == ["LL"]
    assert (zero.channels, zero.links) == (16, {"P2P/IPC": 1})
    assert (zero.complete, one.complete) == (True, False)


def test_the_matrix_is_rank_0s_alone() -> None:
    zero, one = ranks("tuned_two_ranks")
    assert (zero.algorithms, zero.protocols) == (("Ring",), ("LL",))
    assert (one.algorithms, one.protocols) == (None, None)


def test_messages_of_one_process_under_two_devices_are_one_ranks() -> None:
    zero, one = ranks("thread_table")
    assert one.messages == 3
    assert zero.threads["Ring/LL"] == 256
    assert zero.links == {"SHM/direct/direct": 2}


def test_a_communicator_of_one_rank_makes_no_rank() -> None:
    alone = "h:5:5 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 1 cudaDev 0 busId 60 commId 0x7 - Init COMPLETE\n"
    assert nccl_ranks(read_nccl(alone)) == ()


def test_a_refused_value_is_told_with_nccls_reason() -> None:
    log = (
        "h:5:5 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 busId 60 commId 0x7 - Init COMPLETE\n"
        "h:5:5 [0] NCCL INFO Invalid value 9z for NCCL_BUFFSIZE, using default -2.\n"
    )
    (rank,) = nccl_ranks(read_nccl(log))
    assert (rank.refused["NCCL_BUFFSIZE"].value, rank.refused["NCCL_BUFFSIZE"].text) == (
        "9z",
        "using default -2.",
    )


def test_two_communicators_that_differ_are_both_told() -> None:
    log = "".join(
        f"h:5:5 [0] NCCL INFO ncclCommInitRank comm 0x{n} rank 0 nranks 2 cudaDev 0 busId 60 commId 0x7 - Init COMPLETE\n"
        f"h:5:5 [0] NCCL INFO NCCL_PROTO set by environment to {value}\n"
        for n, value in enumerate(("LL", "Simple", "LL"))
    )
    (rank,) = nccl_ranks(read_nccl(log))
    assert [taken.value for taken in rank.accepted["NCCL_PROTO"]] == ["LL", "Simple"]


def test_every_process_that_claims_a_rank_is_told() -> None:
    log = "".join(
        f"h:{pid}:{pid} [0] NCCL INFO ncclCommInitRank comm 0x{pid} rank 0 nranks 2 cudaDev 0 busId 60 commId 0x7 - Init COMPLETE\n"
        f"h:{pid}:{pid} [0] NCCL INFO NCCL_PROTO set by environment to {value}\n"
        for pid, value in ((5, "Simple"), (999, "LL"))
    )
    found = nccl_ranks(read_nccl(log))
    assert [(r.rank, r.pid, r.accepted["NCCL_PROTO"][0].value) for r in found] == [
        (0, 5, "Simple"),
        (0, 999, "LL"),
    ]
