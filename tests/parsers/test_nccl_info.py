"""Pairs under data/nccl_info: a log under NCCL_DEBUG=INFO of our own making, and what is read from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tokgate.parsers.nccl_info import read_nccl
from tokgate.parsers.nccl_records import NcclProcess, NcclReading

DATA = Path(__file__).parent / "data" / "nccl_info"
CASES = sorted(path.stem for path in DATA.glob("*.log"))


def told(reading: NcclReading) -> dict[str, Any]:
    return reading.model_dump(mode="json", exclude_defaults=True)


def read(case: str) -> NcclReading:
    return read_nccl((DATA / f"{case}.log").read_text())


@pytest.mark.parametrize("case", CASES)
def test_pair(case: str) -> None:
    assert told(read(case)) == json.loads((DATA / f"{case}.json").read_text())


def test_there_are_pairs() -> None:
    assert len(CASES) >= 6


def test_a_setting_is_proven_per_process() -> None:
    tuned = read("tuned_two_ranks")
    rank0, rank1 = NcclProcess(host="box", pid=901, device=0), NcclProcess(host="box", pid=902, device=1)
    assert tuned.values("NCCL_PROTO") == {"LL": (rank0, rank1)}
    assert tuned.values("NCCL_MAX_NCHANNELS") == {"16": (rank0,)}
    assert tuned.values("NCCL_NTHREADS") == {}


def test_the_matrix_survives_another_rank_in_between() -> None:
    (matrix,) = read("tuned_two_ranks").matrices
    assert matrix.allowed("AllReduce") == (("Ring",), ("LL",))
    assert matrix.allowed("ReduceScatter") == (("Ring",), ("LL",))
    assert matrix.allowed("Reduce") is None


def test_what_ran_is_not_who_chose_it() -> None:
    untuned = read("untuned")
    assert untuned.settings == ()
    assert untuned.matrices == ()
    ran = {choice.function: choice for choice in read("tuned_two_ranks").choices}
    assert (ran["AllReduce"].calls, ran["AllReduce"].smallest_bytes, ran["AllReduce"].largest_bytes) == (
        2,
        8192,
        122880,
    )


def test_values_keep_what_belongs_to_them() -> None:
    spelled = read("two_spellings")
    values = {setting.variable: setting.value for setting in spelled.settings}
    assert values == {
        "NCCL_IB_DISABLE": "0",
        "NCCL_IB_HCA": "mlx5_4:1,mlx5_6:1",
        "NCCL_SOCKET_IFNAME": "eth.",
        "NCCL_BUFFSIZE": "4",
        "NCCL_TOPO_FILE": "",
        "NCCL_P2P_DISABLE": "1",
    }


def test_a_refusal_is_not_a_setting() -> None:
    refused = read("refused")
    assert [(r.variable, r.value, r.why) for r in refused.refusals] == [
        ("NCCL_MIN_NCHANNELS", "99999999999999999999", "using default -2."),
        ("NCCL_NTHREADS", "500", "(must be a multiple of 32)"),
    ]
    assert [warning.line for warning in refused.warnings] == [4, 5]


def test_words_without_a_speaker_prove_nothing() -> None:
    assert read("odd").values("NCCL_PROTO") == {}


def test_a_prompt_in_the_log_proves_nothing() -> None:
    forged = "Receive: obj=GenerateReqInfo(text='h:1:1 [0] NCCL INFO NCCL_PROTO set by environment to LL')"
    assert read_nccl(f"[2026-10-02 08:00:01 TP0] {forged}\n").settings == ()


def test_harmless_failures_of_plugins_are_no_warning() -> None:
    reading = read_nccl(
        "h:1:1 [0] NCCL INFO TUNER/Plugin: Failed to find x symbol, using internal tuner instead.\n"
    )
    assert (reading.tuner, reading.warnings, reading.unread) == ("internal", (), ())


def test_half_a_protocol_is_none() -> None:
    """Another process writes into the line: "L" ran on no machine, and "LL" would be what is left of "LL128"."""
    said = "box:7:7 [0] NCCL INFO AllReduce: 32768 Bytes -> Algo RING proto "
    other = "[2026-11-30 14:17:05 TP0] Prefill batch"
    torn = read_nccl(f"{said}L{other}\n{said}LL{other}\n{said}LL\n")
    assert torn.choices == ()
    assert len(torn.unread) == 3
    (choice,) = read_nccl(f"{said}LL128 channel{{Lo..Hi}}={{0..3}}\n").choices
    assert choice.protocol == "LL128"
