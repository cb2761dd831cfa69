"""The slowdown is as long as ordered, in what is ordered only."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.probe.fake_cuda import FakeCuda
from tokgate_plant import NOTHING, Amount, Amounts, BusyGpu, BusyHost, GpuSpeed, read_amounts, slowed


def test_orders_are_read() -> None:
    assert read_amounts("") == {}
    assert read_amounts("verify:+10%, draft:+2ms/3\n") == {
        "verify": Amount(share=0.1),
        "draft": Amount(ms=2.0, every=3),
    }


def test_an_order_for_one_rank_is_no_other_ranks() -> None:
    order = "verify:+20%@3,draft:+1ms"
    third, fourth, untold = (Amounts(order, rank) for rank in (3, 4, None))

    assert third.now("verify") == Amount(share=0.2, rank=3)
    assert (fourth.now("verify"), untold.now("verify")) == (NOTHING, NOTHING)
    assert fourth.now("draft") == Amount(ms=1.0)


@pytest.mark.parametrize(
    "text",
    [
        "verfy:+10%",
        "verify:+10%@",
        "verify:+10%@a",
        "verify:10%",
        "verify:+10",
        "verify:+10%/0",
        "verify",
        "rest:+10%",
        "draft:+1ms,draft:+2ms",
    ],
)
def test_a_misspelt_order_is_not_taken_for_none(text: str) -> None:
    with pytest.raises(ValueError, match="no such slowdown"):
        read_amounts(text)


def test_a_file_is_read_anew_when_it_has_changed(tmp_path: Path) -> None:
    file = tmp_path / "order"
    amounts = Amounts(f"@{file}")
    assert amounts.now("verify") == NOTHING
    file.write_text("verify:+2ms")
    assert amounts.now("verify") == Amount(ms=2.0)
    assert amounts.now("draft") == NOTHING
    file.unlink()
    assert amounts.now("verify") == NOTHING


@pytest.mark.parametrize(("order", "wanted_ms"), [("verify:+100%", 20.0), ("verify:+30ms", 40.0)])
def test_the_host_is_busy_for_longer(order: str, wanted_ms: float) -> None:
    def verify() -> str:
        until = time.perf_counter() + 0.01
        while time.perf_counter() < until:
            pass
        return "verified"

    slower = slowed(verify, "verify", Amounts(order), BusyHost())
    slower()  # now it is known what a share is one of
    began = time.perf_counter()
    assert slower() == "verified"
    assert (time.perf_counter() - began) * 1e3 >= wanted_ms


class Counting:
    calls = prepared = 0

    def prepare(self) -> None:
        self.prepared += 1

    def before(self, call: Any, amount: Amount) -> Any:
        self.calls += 1
        return call()


def test_every_third_call_only() -> None:
    delay = Counting()
    slower = slowed(lambda: None, "draft", Amounts("draft:+1ms/3"), delay)
    seen = []
    for _ in range(6):
        slower()
        seen.append(delay.calls)
    assert seen == [0, 0, 1, 1, 1, 2]


def test_prefill_is_not_slowed() -> None:
    delay = Counting()
    slower = slowed(lambda batch: batch, "decode", Amounts("decode:+1ms"), delay)
    for decode in (False, True):
        slower(SimpleNamespace(forward_mode=SimpleNamespace(is_decode=lambda decode=decode: decode)))
    assert (delay.calls, delay.prepared) == (1, 1)


def test_the_gpu_is_busy_for_a_share_of_the_last_call_whose_time_is_known() -> None:
    cuda = FakeCuda()
    delay = BusyGpu(cuda, GpuSpeed(cuda))
    slower = slowed(lambda: "drafted", "draft", Amounts("draft:+50%"), delay)
    assert slower() == "drafted"
    # Calibrated by two kernels of 20 000 000 cycles that took 10 ms each: 2 000 000 cycles a millisecond.
    assert cuda.kernels == [20_000_000, 20_000_000]  # nothing known yet
    cuda.work(4.0)
    slower()
    assert cuda.kernels == [20_000_000, 20_000_000, 4_000_000]


def test_the_first_slowed_call_is_slowed_by_no_more_than_was_ordered(tmp_path: Path) -> None:
    """On a GPU the speed was once measured in it: 80 ms of a generation of 760."""
    cuda, file = FakeCuda(), tmp_path / "order"
    amounts, speed = Amounts(f"@{file}"), GpuSpeed(cuda)
    phases = [slowed(lambda: None, name, amounts, BusyGpu(cuda, speed)) for name in ("draft", "verify")]
    for phase in phases:  # the server's warm-up, before anything is ordered
        phase()
    calibration = list(cuda.kernels)
    file.write_text("draft:+1ms,verify:+1ms")
    for phase in phases:
        phase()
    assert cuda.kernels == [*calibration, 2_000_000, 2_000_000]


def test_beside_the_file_stands_what_was_taken_up(tmp_path: Path) -> None:
    """So whoever orders can tell "not seen" from "not planted"; and a server does not die of an order."""
    file = tmp_path / "order"
    amounts = Amounts(f"@{file}")
    for text, longer in (("verify:+5%\n", Amount(share=0.05)), ("verfy:+5%", NOTHING), ("", NOTHING)):
        file.write_text(text)
        os.utime(
            file, ns=(0, time.monotonic_ns())
        )  # a later moment for each, however coarse the clock of files is
        assert amounts.now("verify") == longer
    told = [json.loads(line) for line in (tmp_path / "order.read").read_text().splitlines()]
    assert [{k: v for k, v in line.items() if k != "pid"} for line in told] == [
        {"order": "verify:+5%"},
        {"refused": "no such slowdown: 'verfy:+5%'"},
        {"order": ""},
    ]
