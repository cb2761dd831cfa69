"""GPU time from events that are asked without waiting, and used again."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tests.probe.fake_cuda import FakeCuda
from tokgate_probe.clocks import CudaClock, HostClock
from tokgate_probe.install import clock_for


def test_a_span_is_done_when_the_gpu_has_got_there() -> None:
    cuda = FakeCuda()
    span = CudaClock(cuda).start()
    assert span is not None
    span.stop()
    assert not span.done()
    cuda.work(5.0)
    assert span.done()
    assert span.milliseconds() == 5.0


def test_events_are_used_again() -> None:
    cuda = FakeCuda()
    clock = CudaClock(cuda)
    for _ in range(10):
        span = clock.start()
        assert span is not None
        span.stop()
        cuda.work(1.0)
        assert span.milliseconds() == 1.0
    assert cuda.made == 2


def test_nothing_is_recorded_into_a_graph_that_is_being_captured() -> None:
    cuda = FakeCuda()
    cuda.capturing = True
    assert CudaClock(cuda).start() is None
    assert cuda.behind == []


def test_the_host_clock_is_done_at_once() -> None:
    span = HostClock().start()
    span.stop()
    assert span.done()
    assert 0 <= span.milliseconds() < 1000


def test_without_torch_the_host_is_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    assert clock_for("cuda").name == "host"


@pytest.mark.parametrize(
    ("device", "cuda", "clock"),
    [
        ("cuda", True, "cuda-events"),
        (None, True, "cuda-events"),
        ("cpu", True, "host"),  # a CPU server on a machine that has a GPU
        (None, False, "host"),
    ],
)
def test_the_clock_is_the_one_of_the_device(
    monkeypatch: pytest.MonkeyPatch, device: str | None, cuda: bool, clock: str
) -> None:
    monkeypatch.setitem(sys.modules, "torch", _torch(cuda=cuda))
    assert clock_for(device).name == clock


def test_a_device_that_no_clock_can_see_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", _torch(cuda=False))
    with pytest.raises(ValueError, match="no clock for device 'npu'"):
        clock_for("npu")


def _torch(*, cuda: bool) -> ModuleType:
    torch = ModuleType("torch")
    there = FakeCuda()
    there.is_available = lambda: cuda  # type: ignore[method-assign]
    torch.cuda = there  # type: ignore[attr-defined]
    return torch
