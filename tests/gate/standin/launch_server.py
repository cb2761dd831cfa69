"""`python -m standin.launch_server`: arguments, log lines, children and end as SGLang 0.5.23 has them.

STANDIN_FAULT orders one fault, "kind" or "kind:argument" (see `Fault`). STANDIN_STAMPS names a file to
which every start and stop is appended, so that a test can see which servers ever ran side by side;
STANDIN_PACE one that may hold a factor on the time of every step: slower or faster, and nobody told.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

from .answers import Fault
from .serving import Serving, serve

_WORKER = Path(__file__).with_name("worker.py")


def main() -> int:
    args = _arguments()
    fault = Fault.from_text(os.environ.get("STANDIN_FAULT", ""))
    if fault.kind == "write-nothing":
        signal.pause()
    if fault.kind == "fall-silent":
        log("Load weight begin. avail mem=21.79 GB")
        signal.pause()
    log(f"server_args={vars(args)}")  # SGLang writes its API key here as well
    if not (Path(args.model_path) / "config.json").is_file():
        print(
            f"OSError: Can't load the configuration of '{args.model_path}'. If you were trying to load it from "
            "'https://huggingface.co/models', make sure you don't have a local directory with the same name.",
            file=sys.stderr,
            flush=True,
        )
        return 1
    workers = [_worker(name, fault) for name in ("sglang::scheduler", "sglang::detokenizer")]
    log("Load weight begin. avail mem=21.79 GB")
    log("Load weight end. elapsed=0.02 s, type=LlamaForCausalLM, avail mem=21.78 GB, mem usage=0.01 GB.")
    log("KV Cache is allocated. dtype: torch.bfloat16, #tokens: 16384, K size: 0.01 GB, V size: 0.01 GB")
    if fault.kind == "run-out-of-memory":
        log(
            "Scheduler hit an exception: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
        )
        return 1
    try:
        server = serve(Serving(args=vars(args), fault=fault, pace=_pace(), log=log))
    except OSError as error:
        log(f"ERROR:    [Errno {error.errno}] error while attempting to bind on address "
            f"('{args.host}', {args.port}): address already in use")  # fmt: skip
        return 1

    def stop(_number: int, _frame: FrameType | None) -> None:
        if fault.kind == "ignore-term":
            log("TERM ignored")
            return
        for worker in workers if fault.kind != "leave-a-child" else workers[1:]:
            worker.kill()
        log("SIGTERM received. Draining requests and shutting down...")
        _stamp("stop", args)
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    _stamp("start", args)
    log(f"Uvicorn running on http://{args.host}:{args.port} (Press CTRL+C to quit)")
    log("The server is fired up and ready to roll!")
    server.serve_forever(poll_interval=60)
    return 0


def log(text: str) -> None:
    print(f"[{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M:%S}] {text}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="launch_server.py")
    parser.add_argument("--model-path", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=30000)
    parser.add_argument("--api-key")
    parser.add_argument("--tp-size", type=int, default=1)
    parser.add_argument("--enable-metrics", action="store_true")
    parser.add_argument("--speculative-algorithm")
    parser.add_argument("--speculative-draft-model-path")
    for number in ("num-steps", "eagle-topk", "num-draft-tokens"):
        parser.add_argument(f"--speculative-{number}", type=int)
    return parser.parse_args()


def _worker(name: str, fault: Fault) -> subprocess.Popen[bytes]:
    environment = dict(os.environ)
    if fault.kind == "drop-variable" and "scheduler" in name:
        environment.pop(fault.argument, None)
    extra = ["stays"] if fault.kind == "leave-a-child" and "scheduler" in name else []
    worker = subprocess.Popen(
        [sys.executable, "-S", str(_WORKER), name, *extra], env=environment, stdout=subprocess.PIPE
    )
    assert worker.stdout is not None
    worker.stdout.readline()
    return worker


def _pace() -> float:
    path = Path(os.environ.get("STANDIN_PACE", ""))
    return float(path.read_text()) if path.is_file() else 1.0


def _stamp(event: str, args: argparse.Namespace) -> None:
    path = os.environ.get("STANDIN_STAMPS")
    if path:
        stamp: dict[str, Any] = {"event": event, "pid": os.getpid(), "key": args.api_key}
        with Path(path).open("a") as file:
            file.write(json.dumps(stamp) + "\n")


if __name__ == "__main__":
    sys.exit(main())
