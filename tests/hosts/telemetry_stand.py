"""A nvidia-smi that repeats its answer with -lms, and what a test needs to follow telemetry as it comes."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokgate.hosts.scripts.telemetry import stat
from tokgate.records import CommandLine, Launch, ServerRun
from tokgate.records.telemetry import TelemetryRow
from tokgate.rig.models import Rig
from tokgate.session.run_folder import _Row

LIMIT_S = 20.0
_PROGRAM = """
import json, os, sys, time
folder = os.path.dirname(os.path.abspath(__file__))
asked = sys.argv[1]
pause = int(sys.argv[sys.argv.index("-lms") + 1]) / 1000 if "-lms" in sys.argv else None
fields = asked.partition("=")[2].split(",")
with open(os.path.join(folder, "pids"), "a") as file:
    file.write(str(os.getpid()) + "\\n")
while True:
    with open(os.path.join(folder, "state.json")) as file:
        state = json.load(file)
    if pause is not None and state.get("ends"):
        sys.exit("Unable to determine the device handle for GPU 0000:11:00.0: GPU is lost.")
    if pause is not None and state.get("floods"):
        flood = "GPU-0, %d, 4096, " + "x" * 40 + "\\n"
        while True:
            sys.stdout.write("".join(flood % pid for pid in range(1, 1000)))
    for row in state["gpus" if asked.startswith("--query-gpu") else "apps"]:
        for field in fields:
            if field not in row:
                print('Field "%s" is not a valid field to query.\\n' % field)
                sys.exit(2)
        print(", ".join(str(row[field]) for field in fields))
    sys.stdout.flush()
    if pause is None or state.get("once"):
        break
    time.sleep(pause)
"""


def gpu(index: int, **changes: Any) -> dict[str, Any]:
    """One GPU as the newest nvidia-smi tells it; a change to None takes the field away."""
    row = {
        "uuid": f"GPU-{index}",
        "index": index,
        "clocks.current.sm": 1980,
        "clocks.current.memory": 3201,
        "temperature.gpu": 52,
        "power.draw": 627.40,
        "utilization.gpu": 100,
        "clocks_event_reasons.active": "0x0000000000000000",
    }
    return {k: v for k, v in {**row, **changes}.items() if v is not None}


def app(index: int, pid: int, name: str = "python3") -> dict[str, Any]:
    return {"gpu_uuid": f"GPU-{index}", "pid": pid, "used_memory": 4096, "process_name": name}


class StandIn:
    """The program and its state, which a test may change while it runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        program = folder / "nvidia-smi"
        program.write_text(f"#!{sys.executable} -IS\n{_PROGRAM}")
        program.chmod(0o755)

    def tell(self, *, gpus: list[dict[str, Any]], apps: list[dict[str, Any]], **state: bool) -> None:
        """`ends`: a repeated answer ends; `once`: after its first one; `floods`: it never ends."""
        draft = self.folder / "state.draft"
        draft.write_text(json.dumps({"gpus": gpus, "apps": apps, **state}))
        draft.replace(self.folder / "state.json")

    def pids(self) -> list[int]:
        return [int(line) for line in (self.folder / "pids").read_text().split()]


class Followed:
    """Takes lines as the gate would write them, and lets a test wait for what it wants to see."""

    def __init__(self) -> None:
        self.rows: list[TelemetryRow] = []
        self._news = threading.Condition()

    def __call__(self, lines: str) -> None:
        with self._news:
            self.rows += [_Row.model_validate_json(line).root for line in lines.splitlines()]
            self._news.notify_all()

    def wait_until(self, seen: Callable[[list[TelemetryRow]], bool]) -> None:
        with self._news:
            assert self._news.wait_for(lambda: seen(self.rows), LIMIT_S), self.rows[-5:]


def rig(folder: Path | None = None, *, gpus: int = 2, reader: str = "nvidia-smi") -> Rig:
    """A rig whose host finds nvidia-smi in `folder`."""
    return Rig.model_validate(
        {
            "name": "watched",
            "host": {"python": sys.executable, "path": [str(folder)] if folder else []},
            "gpus": {"count": gpus, "reader": reader},
            "server": {"python": "python", "model_path": "/m"},
            "arms": [{"name": "baseline", "kind": "baseline"}],
            "prompt_sets": {"ids": {"kind": "token-ids", "length": 8, "first_id": 3, "last_id": 99}},
            "workloads": [{"name": "single", "prompts": "ids", "output_tokens": 8, "repeats": 1}],
        }
    )


def server(pid: int) -> ServerRun:
    """A server whose main process is `pid`."""
    row = stat(pid)
    assert row is not None
    launch = Launch(id="01-baseline", arm="baseline", role="control")
    return ServerRun(
        launch=launch,
        host="local",
        line=CommandLine(shown="x", argv=("x",), environment={}),
        port=1,
        base_url="http://127.0.0.1:1",
        pid=pid,
        start_ticks=row[3],
        sid=pid,
        mark="run/01",
        started_at="2026-11-29T12:00:00Z",
        ready_after_s=1.0,
        log_file="server.log",
    )


def alive(pid: int) -> bool:
    row = stat(pid)
    if row is None:
        return False
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state not in "ZX"


def own_pid() -> int:
    return os.getpid()
