"""A server that looks like SGLang from outside and misbehaves on order; standard library only.

    python -m standin_sglang --model-path X --host 127.0.0.1 --port P --api-key K [--misbehave WHAT …]

WHAT: mute (writes nothing, never listens) · chatter (writes on, never listens) · hush (writes once, never
listens) · die (prints --say and exits with --code) · deaf (ignores TERM) · leak (a child of it daemonises) ·
error (answers generations with 500) · short (one token) · hang (takes a generation and never answers) ·
elsewhere (listens on another port) · erase (overwrites its own environment in memory, as setproctitle does).
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

VERSION = "0.5.23"


def main() -> None:
    parser = argparse.ArgumentParser(prog="standin_sglang", allow_abbrev=False)
    parser.add_argument("--model-path", required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=30000)
    parser.add_argument("--api-key")
    parser.add_argument("--enable-metrics", action="store_true")
    parser.add_argument("--misbehave", nargs="*", default=[])
    parser.add_argument("--nnodes", type=int, default=1)
    parser.add_argument("--node-rank", type=int, default=0)
    parser.add_argument("--dist-init-addr")
    parser.add_argument("--say", default="")
    parser.add_argument("--code", type=int, default=1)
    arguments = parser.parse_args()
    faults = set(arguments.misbehave)
    if "mute" in faults:
        wait_forever()
    print(f"server_args={vars(arguments)}", flush=True)
    if "die" in faults:
        print(arguments.say, flush=True)
        sys.exit(arguments.code)
    if "hush" in faults:
        wait_forever()
    if "chatter" in faults:
        while True:
            print("Load weight begin.", flush=True)
            time.sleep(0.05)
    if "deaf" in faults:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "leak" in faults:
        subprocess.run(["setsid", "-f", "sleep", "300"], check=True)
    # A worker, named as SGLang's are.
    worker = subprocess.Popen(["sglang::scheduler_TP0", "300"], executable="/bin/sleep")
    if "erase" in faults:
        erase_environment()
    if "deaf" not in faults:
        signal.signal(signal.SIGTERM, ending(worker))
    serve(arguments, faults)


def ending(worker: subprocess.Popen[bytes]) -> Callable[[int, object], None]:
    def end(_number: int, _frame: object) -> None:
        worker.kill()
        os._exit(0)

    return end


def serve(arguments: argparse.Namespace, faults: set[str]) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.answer(
                {"model_path": arguments.model_path, "version": VERSION, "api_key": arguments.api_key}
            )

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
            if "hang" in faults:
                wait_forever()
            if "error" in faults:
                self.answer({"error": f"planted, key {arguments.api_key}"}, status=500)
                return
            tokens = 1 if "short" in faults else body["sampling_params"]["max_new_tokens"]
            meta_info = {"completion_tokens": tokens, "prompt_tokens": 4}
            self.answer({"text": "x" * tokens, "output_ids": [7] * tokens, "meta_info": meta_info})

        def answer(self, body: dict[str, object], status: int = 200) -> None:
            if arguments.api_key and self.headers["Authorization"] != f"Bearer {arguments.api_key}":
                body, status = {"error": "Unauthorized"}, 401
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            print(format % args, flush=True)

    ThreadingHTTPServer.daemon_threads = True
    port = 0 if "elsewhere" in faults else arguments.port
    server = ThreadingHTTPServer((arguments.host, port), Handler)
    print("The server is fired up and ready to roll!", flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    wait_forever()


def wait_forever() -> None:
    while True:
        signal.pause() if threading.current_thread() is threading.main_thread() else time.sleep(300)


def erase_environment() -> None:
    """Do to /proc/self/environ what setproctitle does: the memory is blanked, all but its end."""
    field = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    start, end = int(field[47]), int(field[48])  # env_start, env_end: fields 50 and 51 of proc(5)
    ctypes.memset(start, 0, end - start - 24)


if __name__ == "__main__":
    main()
