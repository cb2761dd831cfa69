"""Compare our time per output token with SGLang's own benchmark client, and with the server's own count.

    python benchmarks/tpot_agreement.py [--rig sglang-cpu] [--requests 25]

One real server of the rig. In each turn our client and `sglang.benchmark.serving` (run by the rig's own Python) send one
request each, of the same lengths, while the server is busy with a long prompt: both are then prefilled in one batch and
served by the very same decode steps, so that it does not matter how busy the machine is. Both mean the same by time per
output token: from the first to the last chunk, over all tokens but the first. Wanted: our median within 1 % of theirs.

For our requests also: the decode speed that the client saw against `decode_throughput`, which the server computed from
its own stamps. Wanted: the median of the ratios within 0.5 %. Exit code 1 when either is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median, quantiles

import httpx

from tokgate.client.interpret import interpret
from tokgate.client.prompts import payload, prompt
from tokgate.client.stream import Request, run_batch
from tokgate.hosts.connection import connect
from tokgate.records import Launch
from tokgate.records.redactor import Redactor
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.rig.workload import TokenIdPrompts
from tokgate.server.launch import RunningServer, start
from tokgate.stats.samples import samples_of

ROOT = Path(__file__).parents[1]
THEIRS = ROOT / "benchmarks" / "tpot_sglang.py"
CLIENT_STUBS = ROOT / "rigs" / "sglang-cpu" / "client_stubs"
TPOT_LIMIT, DECODE_LIMIT = 0.01, 0.005
PLUG_TOKENS = 1500  # about a second of prefill
PLUG_TAKEN_S = 0.2  # by then the scheduler has begun with it


@dataclass(frozen=True)
class Asked:
    requests: int
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True)
class Ours:
    tpot_ms: float
    decode_ratio: float  # client over server
    decode_tok_s: float  # as the server told


def ask_once(server: RunningServer, asked: Asked, index: int) -> Ours:
    prompts = TokenIdPrompts(kind="token-ids", length=asked.input_tokens, first_id=4, last_id=2047, seed=7)
    name = uuid.uuid4().hex
    body = payload(
        "generate", prompt(prompts, index, root=ROOT), output_tokens=asked.output_tokens, request_id=name
    )
    request = Request(name, "generate", body, asked.output_tokens)
    (raw,) = run_batch(server.target, (request,), timeout_s=120.0).responses
    answer = interpret(raw, launch=server.run.launch.id, workload="tpot", index=index)
    value = {sample.metric: sample.value for sample in samples_of(answer)}
    tpot, client, told = (value.get(m) for m in ("tpot_ms", "client_decode_tok_s", "decode_tok_s"))
    if tpot is None or client is None or told is None:
        sys.exit(f"request {index} gave no figures: {answer.status} {answer.why or value}")
    return Ours(tpot, client / told, told)


def start_theirs(rig: Rig, server: RunningServer, asked: Asked, result: Path) -> subprocess.Popen[str]:
    options = {
        "backend": "sglang", "host": server.target.host, "port": server.target.port,
        "model": rig.server.model_path, "tokenizer": rig.server.model_path,
        "dataset-name": "random-ids", "random-input-len": asked.input_tokens,
        "random-output-len": asked.output_tokens, "random-range-ratio": 1.0, "num-prompts": asked.requests,
        "max-concurrency": 1, "warmup-requests": 1, "seed": 1, "output-file": result,
    }  # fmt: skip
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return subprocess.Popen(
        [rig.server.python, str(THEIRS), *words, "--tokenize-prompt", "--disable-tqdm", "--output-details"],
        env={
            **os.environ,
            **rig.server.environment,
            "PYTHONPATH": f"{rig.server.environment.get('PYTHONPATH', '')}:{CLIENT_STUBS}",
            "OPENAI_API_KEY": server.target.api_key or "",
        },
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=result.with_suffix(".err").open("w"),
        text=True,
    )


def plug(server: RunningServer) -> None:
    """Keep the scheduler busy with one long prompt; what comes meanwhile waits and is then prefilled together."""
    body = {"input_ids": [7] * PLUG_TOKENS, "sampling_params": {"temperature": 0, "max_new_tokens": 1}}
    headers = {"Authorization": f"Bearer {server.target.api_key}"}
    url = f"{server.run.base_url}/generate"
    httpx.post(url, json=body, headers=headers, timeout=120.0, trust_env=False).raise_for_status()


def together(rig: Rig, server: RunningServer, asked: Asked) -> tuple[list[Ours], list[float], float]:
    """Return our requests, theirs (ms per token each), and the median that their report states."""
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result.jsonl"
        theirs = start_theirs(rig, server, asked, result)
        ours: list[Ours] = []
        with theirs, ThreadPoolExecutor(1) as pool:
            if theirs.stdin is None or theirs.stdout is None:
                raise AssertionError("both were asked for")
            turns = count()
            while theirs.stdout.readline() == "ready\n":
                turn = next(turns)
                print(f"\rturn {turn} of {asked.requests}", end="", file=sys.stderr, flush=True)
                plugged = pool.submit(plug, server)
                time.sleep(PLUG_TAKEN_S)
                theirs.stdin.write("go\n")
                theirs.stdin.flush()
                mine = ask_once(server, asked, turn)
                plugged.result()
                if turn > 0:  # turn 0 is their warm-up request, and slow for both
                    ours.append(mine)
        print(file=sys.stderr)
        if theirs.returncode or not result.exists():
            sys.exit(
                f"SGLang's client: {theirs.returncode}\n{result.with_suffix('.err').read_text()[-2000:]}"
            )
        told = json.loads(result.read_text(encoding="utf-8").splitlines()[-1])
    if told["completed"] != asked.requests or len(ours) != asked.requests:
        sys.exit(f"completed: ours {len(ours)}, theirs {told['completed']} of {asked.requests}")
    each = [1000 * sum(itl) / (asked.output_tokens - 1) for itl in told["itls"]]
    return ours, each, float(told["median_tpot_ms"])


def row(name: str, values: list[float], digits: int) -> str:
    low, middle, high = quantiles(values, n=4)
    return f"{name:<34}{middle:12.{digits}f}   {low:.{digits}f} .. {high:.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rig", default="sglang-cpu")
    for name, default in {"requests": 25, "input-tokens": 64, "output-tokens": 128}.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    options = vars(parser.parse_args())
    rig = load_rig(options.pop("rig"), root=ROOT)
    arm = rig.control.name  # with speculation two requests would not take the same steps
    asked = Asked(**options)
    redactor = Redactor()
    with tempfile.TemporaryDirectory() as folder:
        server = start(
            connect(rig.host, redactor=redactor),
            rig,
            Launch(id=f"01-{arm}", arm=arm, role="control"),
            mark=f"benchmark-tpot/{uuid.uuid4().hex[:8]}",
            redactor=redactor,
            folder=Path(folder),
        )
        try:
            ours, theirs, stated = together(rig, server, asked)
        finally:
            server.stop()
            server.collect(Path(folder))
    tpot = median(one.tpot_ms for one in ours) / stated - 1
    decode = median(one.decode_ratio for one in ours) - 1
    print(
        f"{rig.name}, {arm}: {asked.requests} requests each, {asked.input_tokens} + {asked.output_tokens} tokens"
    )
    print(f"{'':<34}{'median':>12}   quartiles")
    print(row("ours, ms per output token", [one.tpot_ms for one in ours], 3))
    print(row("theirs, ms per output token", theirs, 3), f"  (their report: {stated:.3f})")
    pairs = [mine.tpot_ms / other for mine, other in zip(ours, theirs, strict=True)]
    print(row("ours / theirs, turn by turn", pairs, 4))
    print(row("client / server decode speed", [one.decode_ratio for one in ours], 5))
    print(row("server's decode_throughput, tok/s", [one.decode_tok_s for one in ours], 1))
    print(f"ours / theirs           {tpot:+.2%}  wanted: within {TPOT_LIMIT:.1%}")
    print(f"client / server decode  {decode:+.2%}  wanted: within {DECODE_LIMIT:.1%}")
    sys.exit(abs(tpot) > TPOT_LIMIT or abs(decode) > DECODE_LIMIT)


if __name__ == "__main__":
    main()
