"""What reaches the file, in which order, and what is said of the rest."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.probe.fake_cuda import FakeCuda
from tokgate_probe import recorder as module
from tokgate_probe.clocks import CudaClock, Span
from tokgate_probe.line_file import KEPT_BYTES, LineFile
from tokgate_probe.recorder import Recorder

HEADER = {"probe": 1}


class Over:
    """A span that is over."""

    began_ns = 17

    def stop(self) -> None:
        raise AssertionError

    def done(self) -> bool:
        return True

    def milliseconds(self) -> float:
        return 2.5


def recorded(folder: Path, add: Callable[[Recorder], None], *, limit: int = 1 << 20) -> list[Any]:
    recorder = Recorder(LineFile(folder, 7, limit_bytes=limit))
    add(recorder)
    recorder.begin(HEADER)
    recorder.start()
    recorder.end()
    return [json.loads(line) for line in (folder / "phases-7.jsonl").read_text(encoding="utf-8").splitlines()]


def test_lines(tmp_path: Path) -> None:
    def add(recorder: Recorder) -> None:
        recorder.add("draft", Over(), 4, None)
        recorder.add("verify", Over(), None, False)

    assert recorded(tmp_path, add) == [
        HEADER,
        ["draft", 2.5, 4, None, 17],
        ["verify", 2.5, None, 0, 17],
        {"end": True, "written": 2, "dropped": 0},
    ]


def test_what_the_gpu_is_still_at_is_written_with_a_later_call(tmp_path: Path) -> None:
    cuda = FakeCuda()
    clock = CudaClock(cuda)

    def span() -> Span:
        begun = clock.start()
        assert begun is not None
        begun.stop()
        return begun

    def add(recorder: Recorder) -> None:
        recorder.add("draft", span(), 1, None)
        recorder.add("verify", span(), 1, True)
        cuda.work(3.0)
        recorder.add("step", span(), 1, True)  # never over: lost with the process, not waited for

    _, *calls, end = recorded(tmp_path, add)
    assert [(phase, ms) for phase, ms, *_ in calls] == [("draft", 3.0), ("verify", 3.0)]
    assert end["written"] == 2


def test_a_full_queue_is_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUEUE", 3)

    def add(recorder: Recorder) -> None:
        for _ in range(5):
            recorder.add("step", Over(), 1, None)

    lines = recorded(tmp_path, add)
    assert {"dropped": 2, "why": "queue full"} in lines
    assert lines[-1] == {"end": True, "written": 3, "dropped": 2}


def test_a_file_at_its_limit_says_so_and_stays_below_it(tmp_path: Path) -> None:
    def add(recorder: Recorder) -> None:
        for _ in range(100):
            recorder.add("step", Over(), 1, None)

    lines = recorded(tmp_path, add, limit=KEPT_BYTES + 200)
    assert lines == [
        HEADER,
        {"dropped": 100, "why": "file at its limit"},
        {"end": True, "written": 0, "dropped": 100},
    ]
    assert (tmp_path / "phases-7.jsonl").stat().st_size < KEPT_BYTES + 200


def test_someone_elses_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "phases-7.jsonl").write_text("theirs")
    LineFile(tmp_path, 7).write("mine\n")
    assert (tmp_path / "phases-7.jsonl").read_text() == "theirs"
    assert (tmp_path / "phases-7-2.jsonl").read_text() == "mine\n"


def test_a_disk_that_comes_back_is_written_to_again(tmp_path: Path) -> None:
    folder = tmp_path / "late"
    file = LineFile(folder, 7)
    with pytest.raises(FileNotFoundError):
        file.write("lost\n")
    folder.mkdir()
    file.write("kept\n")
    assert (folder / "phases-7.jsonl").read_text() == "kept\n"
