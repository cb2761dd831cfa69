from __future__ import annotations

from pathlib import Path

import pytest

from tokgate.client import headroom
from tokgate.client.exchange import Target
from tokgate.client.headroom import lags_ms, measure_ceiling, measure_headroom, null_requests, null_server
from tokgate.client.stream import run_batch
from tokgate.errors import BenchFault


def test_the_ceiling_is_that_of_a_client_that_does_its_work() -> None:
    """No speed is promised here, only what follows from counting: a core has a million microseconds."""
    found = measure_headroom(streams=8, rate=50, seconds=0.3)
    assert found.ceiling_events_per_s == pytest.approx(1e6 / found.cpu_us_per_event)
    assert 0 < found.lag_p50_ms <= found.lag_p99_ms
    assert found.server_late_p99_ms is not None


def test_the_ceiling_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    short = measure_headroom(streams=2, rate=50, seconds=0.1)
    monkeypatch.setattr(headroom, "measure_headroom", lambda: short)
    assert measure_ceiling() == short.ceiling_events_per_s


def test_a_null_server_that_does_not_start(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(headroom, "NULL_SERVER", tmp_path / "missing.py")
    with pytest.raises(BenchFault, match=r"start missing\.py"), null_server():
        pass


def test_a_null_server_that_was_killed() -> None:
    with null_server("--rate", "100") as server:
        server._process.kill()
        with pytest.raises(BenchFault, match="report"):
            server.finish()


def test_lags_are_sorted_and_never_negative() -> None:
    with null_server("--rate", "200") as server:
        outcome = run_batch(Target("127.0.0.1", server.port), null_requests(4, 20), timeout_s=20)
    lags = lags_ms(outcome)
    assert len(lags) == 80
    assert lags == sorted(lags)
    assert lags[0] > 0
