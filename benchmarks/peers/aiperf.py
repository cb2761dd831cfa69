"""NVIDIA AIPerf, run unchanged against /v1/completions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchmarks.peers.box import Figures
from benchmarks.peers.install import installed
from benchmarks.peers.load import Load, run_client
from benchmarks.peers.tokenizer import NAME


def run(url: str, load: Load, folder: Path) -> Figures:
    words = {
        "model": "default",
        "url": url,
        "endpoint-type": "completions",
        "tokenizer": NAME,
        "concurrency": load.concurrency,
        "request-count": load.requests,
        "warmup-request-count": 1,
        "synthetic-input-tokens-mean": load.input_tokens,
        "synthetic-input-tokens-stddev": 0,
        "output-tokens-mean": load.output_tokens,
        "output-tokens-stddev": 0,
        "random-seed": 1,
        "ui": "none",
        "output-artifact-dir": folder / "result",
    }
    command = [str(installed("aiperf") / "aiperf"), "profile"]
    command += [word for name, value in words.items() for word in (f"--{name}", str(value))]
    # SGLang's completions take max_tokens; ignore_eos makes every answer as long as asked for.
    command += ["--streaming", "--use-legacy-max-tokens", "--use-server-token-count"]
    command += ["--extra-inputs", "ignore_eos:true", "--extra-inputs", "temperature:0"]
    run_client(command, folder)
    told = json.loads((folder / "result" / "profile_export_aiperf.json").read_text(encoding="utf-8"))
    if told["request_count"]["avg"] != load.requests:
        raise SystemExit(f"aiperf completed {told['request_count']['avg']:g} of {load.requests} requests")
    return Figures(
        ttft_ms=_mean(told, "time_to_first_token"),
        itl_ms=_mean(told, "inter_token_latency"),
        tok_s=_mean(told, "output_token_throughput"),
        gap_ms=_mean(told, "inter_chunk_latency"),
    )


def _mean(told: dict[str, Any], name: str) -> float:
    return float(told[name]["avg"])
