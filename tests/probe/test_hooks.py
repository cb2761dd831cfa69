"""Which calls count, and that SGLang's own results and errors pass through."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.probe.fake_cuda import FakeCuda
from tokgate_probe.clocks import Clock, CudaClock, HostClock, Span
from tokgate_probe.hooks import Hooks
from tokgate_probe.switch import Switch


class Kept:
    """In place of the recorder."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int | None, bool | None]] = []
        self.lost: list[str] = []

    def add(self, phase: str, span: Span, requests: int | None, graph: bool | None) -> None:
        self.calls.append((phase, requests, graph))

    def lose(self, why: str) -> None:
        self.lost.append(why)

    @property
    def phases(self) -> list[str]:
        return [phase for phase, *_ in self.calls]


class Worker:
    """A scheduler's worker with every method hooked."""

    def __init__(self, clock: Clock | None = None, switch: str | None = None) -> None:
        self.kept = Kept()
        hooks = Hooks(clock or HostClock(), Switch(switch), self.kept)  # type: ignore[arg-type]
        self._hooks = {p: hooks.around(p) for p in ("draft", "verify", "draft_extend", "step", "decode")}
        self.middle: Any = lambda: None

    def call(self, phase: str, *args: Any, **kwargs: Any) -> Any:
        return self._hooks[phase](getattr(self, f"_{phase}"), self, *args, **kwargs)

    def _draft(self, _: Worker, batch: Any) -> Any:
        return batch

    def _verify(self, _: Worker, batch: Any) -> Any:
        self.middle()
        return self.call("decode", batch)

    _draft_extend = _draft

    def _decode(self, _: Worker, batch: Any = None) -> Any:
        return SimpleNamespace(can_run_cuda_graph=True)

    def _step(self, _: Worker, batch: Any) -> Any:
        self.call("draft", batch)
        told = self.call("verify", batch)
        self.call("draft_extend", batch)
        return told


def batch(mode: str = "decode", requests: int = 4, **more: Any) -> Any:
    told = {f"is_{name}": (lambda name=name: name == mode) for name in ("decode", "idle")}
    return SimpleNamespace(forward_mode=SimpleNamespace(**told), reqs=[None] * requests, **more)


CYCLE = ["draft", "verify", "draft_extend", "step"]


def test_a_cycle_and_its_phases() -> None:
    worker = Worker()
    assert worker.call("step", batch()).can_run_cuda_graph is True
    assert worker.kept.calls == [
        ("draft", 4, None),
        ("verify", 4, True),
        ("draft_extend", 4, None),
        ("step", 4, True),
    ]


def test_a_plain_decode_counts_by_position_and_by_name() -> None:
    worker = Worker()
    worker.call("decode", batch())
    worker.call("decode", batch=batch(requests=2))
    assert worker.kept.calls == [("decode", 4, True), ("decode", 2, True)]


@pytest.mark.parametrize("what", [batch("extend"), batch("idle"), batch(is_extend_in_batch=True), None])
@pytest.mark.parametrize("method", ["step", "decode"])
def test_prefill_and_idle_ranks_are_no_cycles(what: Any, method: str) -> None:
    worker = Worker()
    worker.call(method, what)
    assert worker.kept.phases == []
    worker.call("step", batch())
    assert worker.kept.phases == CYCLE


def test_phases_count_by_themselves_where_the_cycle_goes_by_another_name() -> None:
    worker = Worker()
    worker.call("draft", batch())
    worker.call("draft", batch("idle"))
    assert worker.kept.phases == ["draft"]


def test_0_5_11_tells_lengths_instead_of_requests() -> None:
    worker = Worker()
    told = batch()
    del told.reqs
    told.seq_lens = [17, 18, 19]
    worker.call("decode", told)
    assert worker.kept.calls == [("decode", 3, True)]


def test_v1_tells_the_graph_last() -> None:
    worker = Worker()
    worker._verify = lambda *_: ("logits", "verified", False)  # type: ignore[method-assign]
    worker.call("verify", batch())
    assert worker.kept.calls == [("verify", 4, False)]


def test_a_switch_flipped_inside_a_cycle_counts_from_the_next(tmp_path: Path) -> None:
    file = tmp_path / "switch"
    file.write_bytes(b"1")
    worker = Worker(switch=str(file))
    worker.middle = lambda: file.write_bytes(b"0")
    worker.call("step", batch())
    assert worker.kept.phases == CYCLE
    worker.middle = lambda: file.write_bytes(b"1")
    worker.call("step", batch())
    assert worker.kept.phases == CYCLE
    worker.call("step", batch())
    assert worker.kept.phases == CYCLE * 2


def test_an_error_of_sglangs_is_sglangs_and_the_next_cycle_counts() -> None:
    worker = Worker()

    def fail() -> None:
        raise RuntimeError("out of memory")

    worker.middle = fail
    with pytest.raises(RuntimeError, match="out of memory"):
        worker.call("step", batch())
    assert worker.kept.phases == ["draft"]
    worker.middle = lambda: None
    worker.call("step", batch())
    assert worker.kept.phases == ["draft", *CYCLE]


class Broken:
    name = "broken"

    def start(self) -> Span:
        raise OSError("no such device")


def test_an_error_of_ours_is_a_record_lost() -> None:
    worker = Worker(Broken())
    assert worker.call("decode", batch()).can_run_cuda_graph is True
    assert worker.kept.calls == []
    assert worker.kept.lost == ["OSError in a hook"]


def test_odd_arguments_are_records_lost() -> None:
    worker = Worker()
    assert worker.call("decode", SimpleNamespace(forward_mode="decode")).can_run_cuda_graph is True
    assert worker.kept.lost == ["AttributeError in a hook"]


def test_nothing_counts_while_a_graph_is_captured() -> None:
    cuda = FakeCuda()
    cuda.capturing = True
    worker = Worker(CudaClock(cuda))
    worker.call("step", batch())
    assert worker.kept.phases == []
