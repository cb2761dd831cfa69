from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.nccl.evidence import rank
from tokgate.records.nccl import NcclMark, NcclTaken
from tokgate.verdicts.nccl.values import difference, effect, same

P, R, S, U = NcclMark.PROVEN, NcclMark.REFUTED, NcclMark.SILENT, NcclMark.UNKNOWN


@pytest.mark.parametrize(
    ("variable", "wanted", "printed", "equal"),
    [
        ("NCCL_PROTO", "LL", "LL", True),
        ("NCCL_PROTO", "LL", "LL128", False),
        ("NCCL_BUFFSIZE", "0x10", "16", True),
        ("NCCL_BUFFSIZE", "4M", "4", False),
        ("NCCL_P2P_LEVEL", "4", "SYS", True),
        ("NCCL_P2P_LEVEL", "3", "SYS", False),
        ("NCCL_P2P_LEVEL", "sys", "SYS", False),
    ],
)
def test_a_value_is_compared_as_nccl_prints_it(
    variable: str, wanted: str, printed: str, *, equal: bool
) -> None:
    assert same(variable, wanted, printed) is equal


def test_a_suffix_that_nccl_drops_is_told_with_the_unit() -> None:
    assert difference("NCCL_BUFFSIZE", "4M", "4") == "read as 4 (bytes)"
    assert difference("NCCL_NTHREADS", "512 threads", "512") == "read as 512"
    assert difference("NCCL_MAX_NCHANNELS", "16", "4") == "another value: 4"


@pytest.mark.parametrize(
    ("variable", "wanted", "changes", "mark", "words"),
    [
        ("NCCL_MAX_NCHANNELS", "16", {}, P, "16 coll channels"),
        ("NCCL_MAX_NCHANNELS", "32", {"channels": 24}, P, "24 coll channels of the 32 allowed"),
        ("NCCL_MAX_CTAS", "128", {"channels": 64}, R, "clamped: 64 coll channels"),
        ("NCCL_MAX_NCHANNELS", "16", {"channels": 24}, R, "another value: 24 coll channels"),
        ("NCCL_MIN_NCHANNELS", "16", {"channels": 24}, P, "24 coll channels"),
        ("NCCL_MIN_NCHANNELS", "32", {"channels": 24}, R, "another value: 24 coll channels"),
        ("NCCL_ALGO", "Ring", {}, P, "the matrix allows Ring for AllReduce"),
        ("NCCL_ALGO", "ring,tree", {"algorithms": ("Tree", "Ring")}, P, "the matrix allows Tree, Ring for AllReduce"),
        ("NCCL_ALGO", "^Tree", {"algorithms": ("Ring", "NVLS")}, P, "the matrix allows Ring, NVLS for AllReduce"),
        ("NCCL_ALGO", "^Tree", {"algorithms": ("Tree",)}, R, "another value: the matrix allows Tree for AllReduce"),
        ("NCCL_PROTO", "LL", {"protocols": ("LL", "Simple")}, R, "another value: the matrix allows LL, Simple for AllReduce"),
        ("NCCL_PROTO", "LL", {"protocols": None}, R, "no enabled matrix is printed: nothing is restricted"),
        ("NCCL_ALGO", "allreduce:ring", {}, U, "a value by function is not compared with the matrix"),
        ("NCCL_NTHREADS", "512", {}, P, "at most 512 threads (Ring/LL)"),
        ("NCCL_NTHREADS", "1024", {}, R, "clamped: at most 512 threads (Ring/LL)"),
        ("NCCL_LL128_NTHREADS", "640", {}, P, "at most 640 threads (Ring/LL128)"),
        ("NCCL_P2P_LEVEL", "SYS", {}, P, "links: 32 P2P/IPC"),
        ("NCCL_P2P_LEVEL", "SYS", {"links": {"SHM/direct/direct": 16}}, R, "without effect: links: 16 SHM/direct/direct"),
        ("NCCL_P2P_LEVEL", "PXB", {"links": {"SHM/direct/direct": 16}}, P, "links: 16 SHM/direct/direct"),
    ],
)  # fmt: skip
def test_the_effect_is_read_where_nccl_shows_it(
    variable: str, wanted: str, changes: dict[str, Any], mark: NcclMark, words: str
) -> None:
    found = effect(variable, wanted, rank(0, **changes), NcclTaken(value=wanted, line=1))
    assert (found[0], found[2]) == (mark, words)


def test_fewer_channels_than_allowed_because_nccl_read_another_number() -> None:
    four = NcclTaken(value="4", line=9)
    found = effect("NCCL_MAX_NCHANNELS", "16", rank(0, channels=4), four)
    assert found == (R, "4", "another value: 4 coll channels of the 16 allowed")


@pytest.mark.parametrize("variable", ["NCCL_ALGO", "NCCL_PROTO", "NCCL_NTHREADS"])
def test_what_only_rank_0_prints_is_no_gap_of_the_others(variable: str) -> None:
    assert effect(variable, "512", rank(1), None)[0] is NcclMark.SILENT


def test_a_number_without_a_line_of_its_own_is_what_nccl_read() -> None:
    read = NcclTaken(value="16777216", line=9)
    assert effect("NCCL_BUFFSIZE", "16777216", rank(0), read)[:2] == (S, "16777216")
    assert effect("NCCL_BUFFSIZE", "4M", rank(0), NcclTaken(value="4", line=9)) == (
        R,
        "4",
        "read as 4 (bytes)",
    )
    assert effect("NCCL_BUFFSIZE", "4M", rank(0), None)[0] is U
