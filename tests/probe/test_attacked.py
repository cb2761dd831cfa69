"""What could make the probe harm its host: disks that never answer, forks, no thread left, objects that raise when looked at."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.probe.fake_cuda import FakeCuda
from tests.probe.test_hooks import CYCLE, Worker, batch
from tests.probe.test_server import CYCLES, PROBE, STANDIN, lines, serve
from tokgate_probe import recorder as recorder_module
from tokgate_probe.clocks import CudaClock
from tokgate_probe.hooks import Hooks
from tokgate_probe.line_file import LineFile
from tokgate_probe.recorder import Recorder
from tokgate_probe.switch import Switch


def beside(folder: Path, code: str) -> str:
    """Write a plugin that runs `code` before the probe goes to work; return a PYTHONPATH with it."""
    info = folder / "beside-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: beside\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[sglang.srt.plugins]\nbeside = beside:register\n")
    (folder / "beside.py").write_text(f"{code}\ndef register(): pass\n")
    return f"{folder}:{STANDIN}:{PROBE}"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


# ---------------------------------------------------------------- the disk
@pytest.mark.parametrize("call", ["write", "open"])
def test_a_disk_that_never_answers_keeps_nobody_waiting(tmp_path: Path, out: Path, call: str) -> None:
    """Neither a cycle nor, for longer than a second, the end of the process."""
    stuck = (
        "import os, threading, types\n"
        "from tokgate_probe import line_file\n"
        f"line_file.os = types.SimpleNamespace(**dict(vars(os), {call}=lambda *_: threading.Event().wait()))\n"
    )
    began = time.monotonic()
    serve(out, PYTHONPATH=beside(tmp_path / "beside", stuck))
    assert time.monotonic() - began < 15
    assert all(file.stat().st_size == 0 for file in out.iterdir())


def test_a_switch_that_is_no_plain_file_is_none(tmp_path: Path) -> None:
    """A pipe that nobody writes to would keep whoever opens it; a folder can be opened and never be read."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path("/dev/zero")):
        switch = Switch(str(path))
        assert not switch.there
        assert switch.on()


# ---------------------------------------------------------------- the process
def test_without_a_thread_to_write_nothing_is_hooked(tmp_path: Path, out: Path) -> None:
    """Else the queues would fill up for nobody."""
    none_left = (
        "import threading\n"
        "start = threading.Thread.start\n"
        "def refused(self):\n"
        "    if self.name == 'tokgate-probe': raise RuntimeError(\"can't start new thread\")\n"
        "    start(self)\n"
        "threading.Thread.start = refused\n"
    )
    told = serve(out, PYTHONPATH=beside(tmp_path / "beside", none_left))
    assert 'tokgate_probe: not installed: RuntimeError("can\'t start new thread")' in told.stderr
    assert list(out.iterdir()) == []


_FORKING = """
import io, os, sys
import server
from sglang.srt.speculative.eagle_worker_v2 import EAGLEWorkerV2

sys.stdin = io.StringIO("\\n")
server.run_scheduler_process(server.Arguments(), 3, 5, 10)
child = os.fork()
for _ in range(100 if child == 0 else 10):
    EAGLEWorkerV2().forward_batch_generation(server.Batch(decode=True))
if child:
    assert os.waitpid(child, 0)[1] == 0
"""


def test_a_forked_child_goes_on_and_writes_into_nobodys_file(out: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{STANDIN}:{PROBE}",
        "TOKGATE_PROBE_OUT": str(out),
    }
    done = subprocess.run(
        [sys.executable, "-s", "-W", "ignore", "-c", _FORKING],
        env=environment, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    _, *calls, end = lines(out)
    assert sum(phase == "step" for phase, *_ in calls) == 20
    assert end == {"end": True, "written": 80, "dropped": 0}


def test_a_hook_that_cannot_be_put_in_is_told_and_the_others_are(tmp_path: Path, out: Path) -> None:
    picky = (
        "from sglang.srt.plugins.hook_registry import HookRegistry\n"
        "register_hook = HookRegistry.register\n"
        "def picky(target, *more):\n"
        "    if target.endswith('.verify'): raise RuntimeError('not this one')\n"
        "    register_hook(target, *more)\n"
        "HookRegistry.register = picky\n"
    )
    serve(out, PYTHONPATH=beside(tmp_path / "beside", picky))
    header, *calls, _ = lines(out)
    assert {entry.split()[0] for entry in header["hooked"]} >= {"draft", "step"}
    assert "verify" not in {entry.split()[0] for entry in header["hooked"]}
    assert header["broken"] == {
        "sglang.srt.speculative.eagle_worker_v2.EAGLEWorkerV2.verify": "RuntimeError: not this one"
    }
    assert {phase for phase, *_ in calls} == {"draft", "draft_extend", "step"}
    assert len(calls) == 3 * CYCLES


# ---------------------------------------------------------------- the GPU
def test_a_gpu_that_never_gets_there_costs_a_bounded_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "QUEUE", 50)
    cuda = FakeCuda()
    recorder = Recorder(LineFile(tmp_path, 7))
    hooks = Hooks(CudaClock(cuda), Switch(None), recorder)
    decode = hooks.around("decode")
    for _ in range(1000):
        assert decode(lambda told: told.reqs, batch()) is not None
    assert len(recorder._open) == 50
    assert recorder._dropped == 950
    cuda.work(1.0)
    decode(lambda told: told.reqs, batch())
    assert len(recorder._open) <= 1  # it works again, and so does the queue


def test_calls_that_fail_leave_no_events_behind() -> None:
    cuda = FakeCuda()
    clock = CudaClock(cuda)
    worker = Worker(clock)

    def fail() -> None:
        raise RuntimeError("out of memory")

    worker.middle = fail
    for _ in range(100):
        with pytest.raises(RuntimeError, match="out of memory"):
            worker.call("step", batch())
        cuda.work(1.0)
    assert len(clock._free) <= 2 * 100
    worker.middle = lambda: None
    worker.call("step", batch())
    assert worker.kept.phases[-4:] == CYCLE


def test_a_device_that_answers_no_question_any_more_is_records_lost() -> None:
    """As after an illegal access: every question to the device raises from then on."""
    cuda = FakeCuda()
    worker = Worker(CudaClock(cuda))

    def gone() -> bool:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    cuda.is_current_stream_capturing = gone  # type: ignore[method-assign]
    assert worker.call("decode", batch()).can_run_cuda_graph is True
    assert worker.kept.lost == ["RuntimeError in a hook"]


# ---------------------------------------------------------------- what the methods are called with
class Hostile:
    """Raises at every look."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"not {name}")

    def __len__(self) -> int:
        raise RuntimeError

    def __bool__(self) -> bool:
        raise RuntimeError

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    __hash__ = None  # type: ignore[assignment]


@pytest.mark.parametrize("phase", CYCLE)
def test_arguments_and_results_that_raise_pass_through(phase: str) -> None:
    worker, hostile = Worker(), Hostile()
    setattr(worker, f"_{phase}", lambda *_, **__: hostile)
    assert worker.call(phase, hostile) is hostile
    assert worker.call(phase, batch(), more=hostile) is hostile
    assert worker.call(phase) is hostile
    assert worker.kept.lost
    assert json.dumps(worker.kept.lost)


def test_requests_that_cannot_be_counted_cost_the_record_only() -> None:
    worker = Worker()
    told = batch()
    told.reqs = Hostile()
    assert worker.call("decode", told).can_run_cuda_graph is True
    assert worker.kept.lost == ["RuntimeError in a hook"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_whatever_ends_the_server_ends_it(error: type[BaseException]) -> None:
    worker = Worker()

    def end() -> None:
        raise error

    worker.middle = end
    with pytest.raises(error):
        worker.call("step", batch())
    worker.middle = lambda: None
    worker.call("step", batch())
    assert worker.kept.phases[-4:] == CYCLE
