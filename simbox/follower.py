"""A further node of a server over several boxes: its ranks run what node 0 tells, and its main serves nothing but a dummy /health.

As SGLang 0.5.23 does it (entrypoints/engine.py, node_rank >= 1; utils/common.py, launch_dummy_health_check_server): no
tokenizer, no API; SIGTERM is noted and does nothing until node 0 stops the schedulers; then main ends with them.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType
from typing import Any

from simbox.nodes import Line, keep_file, peer_gone
from simbox.processes import Tree
from simbox.server_log import ServerLog

WATCH_S = 0.1
_ANSWERED = ("/health", "/ping", "/health_generate")


def follow(line: Line, tree: Tree, log: ServerLog, *, node: int, ranks: int, args: dict[str, Any]) -> None:
    """Run until node 0 says stop, a rank dies or node 0 is gone. Ends the process."""

    def on_term(_signum: int, _frame: FrameType | None) -> None:
        log.line(
            f"SIGTERM received on node_rank {node}; waiting for the rank-0 ShutdownReq broadcast to stop the schedulers."
        )

    signal.signal(signal.SIGTERM, on_term)
    host, port = args["host"], args["port"]
    try:
        server = ThreadingHTTPServer((host, port), _Dummy)
    except OSError as error:
        log.line(f"Dummy health check server failed to start: {error}")
    else:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        log.line(f"Dummy health check server started in background thread at {host}:{port}")
    threading.Thread(target=_watch, args=(tree, log), daemon=True).start()
    _obey(line, tree, ServerLog(log.version, f" TP{node * ranks}"), ranks)
    for child in tree.children:
        child.process.join(5.0)
        if child.name.startswith("scheduler"):
            log.line(
                f"Scheduler or DataParallelController {child.process.pid} terminated with {child.process.exitcode}"
            )
    os._exit(0)


class _Dummy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path in _ANSWERED else 404)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - likewise
        del format, args


def _obey(line: Line, tree: Tree, log: ServerLog, ranks: int) -> None:
    """Do what node 0 says; come back when it has said stop."""
    while True:
        told = line.receive()
        if told is None:
            log.line(
                f"Scheduler hit an exception: Traceback (most recent call last):\n  (simulated)\n{peer_gone(line)}\n"
            )
            end(tree, log)
        head, payload = told  # type: ignore[misc]
        if head["kind"] == "steps":
            size = len(payload) // ranks
            tree.feed.tell([payload[n * size : (n + 1) * size] for n in range(ranks)])
        elif head["kind"] == "load":
            for number, value in enumerate(head["load"]):
                tree.load[number] = value
        elif head["kind"] == "file":
            keep_file(head["path"], payload)
        elif head["kind"] == "stop":
            tree.stopping = True
            tree.stop()
            return


def _watch(tree: Tree, log: ServerLog) -> None:
    while True:
        child = tree.dead()
        if child is not None and not tree.stopping:
            log.line(
                f"Scheduler or DataParallelController {child.process.pid} terminated with {child.process.exitcode}"
            )
            end(tree, log)
        time.sleep(WATCH_S)


def end(tree: Tree, log: ServerLog) -> None:
    log.line("Received sigquit from a child process. It usually means the child failed.")
    sys.stderr.flush()
    tree.kill()
    os.kill(os.getpid(), signal.SIGKILL)
