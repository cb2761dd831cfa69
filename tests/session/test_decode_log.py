from __future__ import annotations

from pathlib import Path

import pytest

from tokgate.records.server import GraphSteps
from tokgate.session import decode_log
from tokgate.session.decode_log import graph_steps

LINE = (
    "[2026-11-29 12:00:0{second} TP0] Decode batch, #running-req: 1, #token: 120, token usage: 0.01, "
    "{graph}gen throughput (token/s): 60.20, #queue-req: 0"
)


def log(folder: Path, *graphs: str) -> Path:
    lines = ["INFO: 127.0.0.1 - GET /health", *(LINE.format(second=i, graph=g) for i, g in enumerate(graphs))]
    path = folder / "server.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_lines_are_counted_by_what_they_say_of_graphs(tmp_path: Path) -> None:
    path = log(tmp_path, "cuda graph: True, ", "cuda graph: False, ", "cuda graph: False, ", "")
    assert graph_steps(path) == GraphSteps(on=1, off=2, unknown=1, word="cuda graph")


def test_a_log_without_decode_lines_says_nothing(tmp_path: Path) -> None:
    assert graph_steps(log(tmp_path)) is None
    assert graph_steps(tmp_path / "missing.log") is None


def test_a_version_that_does_not_say_has_no_share(tmp_path: Path) -> None:
    found = graph_steps(log(tmp_path, "", ""))
    assert found is not None
    assert (found.unknown, found.share) == (2, None)


def test_no_more_lines_are_read_than_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode_log, "LINES", 2)
    found = graph_steps(log(tmp_path, *["cuda graph: True, "] * 5))
    assert found is not None
    assert found.on == 2


def test_odd_bytes_cost_no_reading(tmp_path: Path) -> None:
    path = log(tmp_path, "cuda graph: True, ")
    path.write_bytes(b"\xff\xfe\x00\n" + b"x" * 10_000 + b"\n" + path.read_bytes())
    assert graph_steps(path) == GraphSteps(on=1, off=0, word="cuda graph")
