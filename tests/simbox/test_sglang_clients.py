"""SGLang's own clients, unchanged, run against the box and measure what its truth file says."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from .serving import EAGLE3, REPOSITORY, TUNED, serving

PYTHON = REPOSITORY / ".sglang-cpu" / "venv" / "bin" / "python"
MODEL = REPOSITORY / ".sglang-cpu" / "golden" / "model"  # for its tokenizer alone
STUBS = (REPOSITORY / "rigs" / "sglang-cpu" / "stubs", Path(__file__).parent / "client_stubs")

pytestmark = [
    pytest.mark.engine,
    pytest.mark.slow,
]


def client(*words: str, port: int, folder: Path) -> str:
    told = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder),
        "PYTHONPATH": ":".join(map(str, STUBS)),
        "SGLANG_USE_CPU_ENGINE": "1",
        "TORCHDYNAMO_DISABLE": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
    }
    command = [str(PYTHON), "-m", *words, "--host", "127.0.0.1", "--port", str(port)]
    ran = subprocess.run(
        command, env=told, cwd=folder, capture_output=True, text=True, timeout=150, check=False
    )
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-2000:]
    return ran.stdout


def test_send_one(tmp_path: Path) -> None:
    with serving(tmp_path / "box", "--tp-size", "2", *EAGLE3, **TUNED) as server:
        out = client("sglang.test.send_one", "--max-new-tokens", "128", port=server.port, folder=tmp_path)
        (truth,) = server.truth("request", expected=1)
    row = re.search(r"\| ([\d.]+) +\| (\d+) +\| ([\d.]+) +\| ([\d.]+) +\|", out.splitlines()[-1])
    assert row is not None, out
    latency, tokens, length, speed = map(float, row.groups())
    assert tokens == truth["completion_tokens"] == 128
    assert length == pytest.approx(truth["accept_length"], rel=0.01)
    assert latency == pytest.approx(truth["e2e_ms"] / 1000, rel=0.01)
    assert speed == pytest.approx(128_000 / truth["e2e_ms"], rel=0.01)


def test_benchmark_serving(tmp_path: Path) -> None:
    with serving(tmp_path / "box", "--tp-size", "2", "--context-length", "4096", *EAGLE3, **TUNED) as server:
        client(
            *["sglang.benchmark.serving", "--backend", "sglang", "--dataset-name", "random-ids", "--random-input-len", "64"],
            *["--random-output-len", "96", "--random-range-ratio", "1.0", "--num-prompts", "6", "--max-concurrency", "2", "--seed", "1"],
            *("--model", str(MODEL), "--tokenizer", str(MODEL)),
            *("--output-file", str(tmp_path / "told.json"), "--output-details"),
            port=server.port,
            folder=tmp_path,
        )  # fmt: skip
        truth = server.truth("request", expected=7)[-6:]  # the first is the client's own warm-up
    told = json.loads((tmp_path / "told.json").read_text())
    assert told["completed"] == 6
    assert told["total_output_tokens"] == sum(t["completion_tokens"] for t in truth)
    mean_e2e = sum(t["e2e_ms"] for t in truth) / 6
    assert told["mean_e2e_latency_ms"] == pytest.approx(mean_e2e, rel=0.01)
    mean_tpot = sum((t["e2e_ms"] - t["ttft_ms"]) / (t["completion_tokens"] - 1) for t in truth) / 6
    assert told["mean_tpot_ms"] == pytest.approx(mean_tpot, rel=0.01)
    # Connecting costs the client a few milliseconds, which are no part of what the server can know.
    mean_ttft = sum(t["ttft_ms"] for t in truth) / 6
    assert mean_ttft <= told["mean_ttft_ms"] <= mean_ttft * 1.01 + 8.0
    seconds = (max(t["end_ns"] for t in truth) - min(t["received_ns"] for t in truth)) / 1e9
    assert told["output_throughput"] == pytest.approx(576 / seconds, rel=0.01)
