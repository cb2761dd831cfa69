"""GuideLLM, run unchanged against /v1/completions."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.peers.box import Figures
from benchmarks.peers.install import installed
from benchmarks.peers.load import Load, run_client
from benchmarks.peers.tokenizer import FOLDER


def run(url: str, load: Load, folder: Path) -> Figures:
    result = folder / "result.json"
    words = {
        "backend": f"kind=openai_http,target={url},model=default,request_format=/v1/completions,http2=false",
        "profile": f"kind=concurrent,streams={load.concurrency}",
        # It knows no warming up by number of requests that leaves the count of the others whole.
        "constraint": f"kind=max_requests,count={load.requests}",
        "tokenizer": f"kind=huggingface_auto,model={FOLDER}",
        "data": f"kind=synthetic_text,prompt_tokens={load.input_tokens},output_tokens={load.output_tokens}",
        "output": f"kind=json,path={result}",
    }
    command = [str(installed("guidellm") / "guidellm"), "run", "--disable-console"]
    command += [word for name, value in words.items() for word in (f"--{name}", value)]
    run_client(command, folder, GUIDELLM__MAX_WORKER_PROCESSES="1")
    (told,) = json.loads(result.read_text(encoding="utf-8"))["benchmarks"]
    metrics, served = told["metrics"], told["requests"]["successful"]
    if len(served) != load.requests:
        raise SystemExit(f"guidellm completed {len(served)} of {load.requests} requests")
    seconds = max(r["request_end_time"] for r in served) - min(r["request_start_time"] for r in served)
    return Figures(
        ttft_ms=float(metrics["time_to_first_token_ms"]["successful"]["mean"]),
        itl_ms=float(metrics["inter_token_latency_ms"]["successful"]["mean"]),
        tok_s=sum(r["output_tokens"] for r in served) / seconds,
    )
