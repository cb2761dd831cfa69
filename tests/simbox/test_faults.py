"""Faults strike where the scenario says, and the truth file tells of them."""

from __future__ import annotations

import contextlib
import http.client
import json
from pathlib import Path

import pytest

from simbox import ledger

from .serving import EAGLE3, TUNED, serving


def test_every_second_stream_is_cut_in_the_middle(tmp_path: Path) -> None:
    with serving(tmp_path, knobs="cut_every = 2\n") as server:
        assert server.stream("first", tokens=8)[-1] == "[DONE]"
        with server.streaming("second", tokens=8) as events:
            seen = []
            with contextlib.suppress(http.client.HTTPException, ConnectionError):
                for event in events:
                    seen.append(json.loads(event)["meta_info"]["completion_tokens"])  # noqa: PERF401 - it breaks off
        assert seen == [1, 2, 3, 4]
        assert [t["ending"] for t in server.truth("request", expected=2)] == ["length", "cut"]


def test_a_hang_keeps_health_at_200_and_the_gpus_busy(tmp_path: Path) -> None:
    with serving(tmp_path, knobs="hang_at_request = 1\n") as server:
        with server.streaming("hangs", tokens=8) as events:
            taken = [next(events) for _ in range(4)]
            assert len(taken) == 4
            assert server.ask("GET", "/health")[0] == 200
            heat = ledger.told_heat(tmp_path, 0)
            assert heat is not None
            assert heat.utilization == 100
            assert heat.watts < 120
        assert server.truth("request") == []


def test_a_foreign_process_takes_a_gpu(tmp_path: Path) -> None:
    with serving(tmp_path, knobs="foreign_at_request = 2\nforeign_gpu = 5\nleftover_mib = 777\n") as server:
        server.generate()
        assert not [h for h in ledger.held(tmp_path) if h.holder.gpu == 5]
        # Long enough for the stranger to have come.
        server.generate(tokens=200)
        (held,) = [h for h in ledger.held(tmp_path) if h.holder.gpu == 5]
        assert (held.mib, held.state) == (777, "running")
        assert b"NCCL" not in Path(f"/proc/{held.holder.pid}/environ").read_bytes()


def test_gauges_lie_and_the_truth_does_not(tmp_path: Path) -> None:
    knobs = "gauge_factor = 1.5\ntold_throughput_factor = 1.2\n"
    with serving(
        tmp_path,
        "--enable-metrics",
        "--decode-log-interval",
        "5",
        "--skip-server-warmup",
        *EAGLE3,
        knobs=knobs,
    ) as server:
        told = server.generate(tokens=64)["meta_info"]["decode_throughput"]
        (truth,) = server.truth("request", expected=1)
        assert told == pytest.approx(1.2 * truth["decode_tok_s"], rel=1e-6)
        page = server.ask("GET", "/metrics")[1].decode()
        gauge = next(line for line in page.splitlines() if line.startswith("sglang:spec_accept_length{"))
        lengths = [a + 1 for a in truth["accepted"]][: 5 * (len(truth["accepted"]) // 5)][-5:]
        assert float(gauge.rsplit(" ", 1)[1]) == pytest.approx(1.5 * sum(lengths) / 5)


def test_slow_answers_hold_back_all_but_generations(tmp_path: Path) -> None:
    with serving(tmp_path, knobs="slow_answer_s = 30.0\n") as server:
        assert server.generate()["meta_info"]["completion_tokens"] == 8
        with pytest.raises(TimeoutError):
            server.ask("GET", "/server_info", timeout_s=0.3)


def test_heat_slows_the_kernels_and_shows_on_the_gpus(tmp_path: Path) -> None:
    with serving(tmp_path, knobs="heat_after_s = 0.3\nheat_factor = 2.0\n") as server:
        server.generate(tokens=60)
        steps = [t for t in server.truth("step") if t["what"] == "decode"]
        assert steps[-1]["heat"] == 2.0
        assert steps[-1]["phases_ms"]["decode"] > 1.8 * steps[8]["phases_ms"]["decode"]
        heat = ledger.told_heat(tmp_path, 0)
        assert heat is not None
        assert heat.celsius > 80


def test_corruption_hits_the_speculative_server_alone(tmp_path: Path) -> None:
    knobs = "corrupt_at_token = 5\n"
    with serving(tmp_path / "plain", knobs=knobs) as server:
        plain = server.generate()["output_ids"]
    with serving(tmp_path / "eagle", *EAGLE3, knobs=knobs) as server:
        speculative = server.generate()["output_ids"]
    assert [i for i, (a, b) in enumerate(zip(plain, speculative, strict=True)) if a != b] == [4]


def test_pinned_acceptance_replaces_the_tokens(tmp_path: Path) -> None:
    with serving(tmp_path, *EAGLE3, SGLANG_SIMULATE_ACC_LEN="2.0", **TUNED) as server:
        answer = server.generate(tokens=33)
        assert answer["output_ids"][1:] == [100] * 32
        assert answer["meta_info"]["spec_correct_drafts_histogram"] == [0, 16]


def test_an_abandoned_request_is_aborted(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        with server.streaming("abandoned", tokens=4000) as events:
            assert json.loads(next(events))["meta_info"]["completion_tokens"] == 1
        # The next one waits for a step, so the first has been found abandoned by then.
        server.generate(tokens=20)
        assert server.truth("request", expected=1)[0]["ending"] == "aborted"
