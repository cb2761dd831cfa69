"""One server of a rig's arm, started once for all that is asked of it beside a gate: `run.sh visit`, clients, captures, killed.

    clients     our figures beside the server's and those of SGLang's benchmark client (benchmarks/clients.py)
    captures    what server and host answer, for tests (captures.py)
    killed      the server's processes are killed at once: how long until its memory is back

It leaves REPORT_DIR/<time>-RIG-ARM/. Exit codes: 0; 10 and 13 as benchmarks/clients.py; 13 where memory did not come back; 11
where the machine was not clean, the server did not start, or the clients could not be compared.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import captures

from benchmarks.agreement.turns import Asked
from benchmarks.clients import CODES, compare
from tokgate.errors import BenchFault
from tokgate.hosts.clean_slate import look
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.gpus import look_at_gpus
from tokgate.hosts.lease import lease
from tokgate.hosts.processes import processes
from tokgate.records import Launch
from tokgate.records.redactor import Redactor
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.server.launch import start
from tokgate.server.port import written_port
from tokgate.server.running import RunningServer

ALL = (
    "clients",
    "captures",
    "killed",
)  # in this order: figures before a profiler was on, and the last one ends the server
BACK_S = 60.0
POLL_S = 0.05
INVALID, FAILED = 11, 13


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rig", required=True)
    parser.add_argument("--rig-set", action="append", default=[])
    parser.add_argument("--arm", required=True)
    parser.add_argument("--do", default=",".join(ALL))
    parser.add_argument("--report-dir", type=Path, required=True)
    parser.add_argument("--label", help="what is special about it, for test data: no-graph, nccl-tuned")
    parser.add_argument("--turns", type=int, default=12)
    parser.add_argument("--streams", default="1")
    parser.add_argument("--together", action="store_true", help="both clients at once, not in turns")
    asked = parser.parse_args()
    root = Path.cwd()
    rig = load_rig(asked.rig, root=root, overrides=asked.rig_set)
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{rig.name}-{asked.arm}"
    folder: Path = asked.report_dir / name
    folder.mkdir(parents=True)
    redactor = Redactor()
    host = connect(rig.host, redactor=redactor)
    visit = Visit(rig, host, folder, redactor, root=root, label=asked.label)
    try:
        with lease(host, owner=name):
            starts = [
                Asked(
                    streams=int(number),
                    starts=asked.turns,
                    warm_ups=2,
                    input_tokens=64,
                    output_tokens=rig.workloads[0].output_tokens,
                    together=asked.together,
                )
                for number in asked.streams.split(",")
            ]
            return visit.run(asked.arm, name, asked.do.split(","), starts)
    except BenchFault as fault:
        print(redactor.clean(f"{fault}"), file=sys.stderr)
        return INVALID


class Visit:
    """`root`: the checkout; `label`: what is special about this server, beside its arm."""

    def __init__(
        self, rig: Rig, host: Host, folder: Path, redactor: Redactor, *, root: Path, label: str | None
    ) -> None:
        self._rig, self._host, self._folder, self._redactor, self._root = rig, host, folder, redactor, root
        self._label = label
        self._began = time.monotonic()

    def run(self, arm: str, name: str, do: list[str], starts: Sequence[Asked]) -> int:
        """Start the arm on a clean machine and do what is asked; the server is stopped whatever happens."""
        rig, codes = self._rig, [0]
        slate = look(self._host, rig, when="before", port=written_port(rig), ours=frozenset())
        self._write("slate.json", slate.model_dump(mode="json"))
        if not slate.clean:
            first = next(one for one in slate.findings if one.severity != "note")
            self._say(f"not clean: {first.what}; {first.do}")
            return INVALID
        if "captures" in do:
            captures.smi(self._host, self._folder, "before")
        self._write("visit.json", self._identity(arm, None))
        launch = Launch(id=f"01-{arm}", arm=arm, role="arm")
        mark = f"{name}/{launch.id}"
        server = start(self._host, rig, launch, mark=mark, redactor=self._redactor, folder=self._folder)
        self._write("visit.json", self._identity(arm, server.run.sglang_version))
        self._say(f"{arm}: ready after {server.run.ready_after_s:.1f} s")
        try:
            if "clients" in do:
                codes += [self._compare(server, one) for one in starts]
            if "captures" in do:
                self._capture(server)
            if "killed" in do:
                codes.append(self._kill(server))
        finally:
            stop = server.stop()
            self._write("stop.json", stop.model_dump(mode="json"))
            server.collect(self._folder)
            if "captures" in do:
                captures.smi(self._host, self._folder, "after")
        self._say(f"{arm}: stopped, {len(stop.survivors)} processes left")
        return max(codes)

    def _identity(self, arm: str, version: str | None) -> dict[str, object]:
        """Say what was visited, and what is nobody's business in test data (capture_data.py)."""
        return {
            "rig": self._rig.name,
            "simulated": self._rig.simulated,
            "arm": arm if self._label is None else f"{arm}-{self._label}",
            "sglang": version,
            "speculation": self._rig.arm(arm).kind,
            "gpus": self._rig.gpus.count,
            "root": str(self._root),
            "work_dir": self._rig.host.work_dir,
            "hosts": [socket.gethostname()],
        }

    def _capture(self, server: RunningServer) -> None:
        folder, rig = self._folder, self._rig
        captures.smi(self._host, folder, "ready")
        captures.process_rows(self._host, server, folder, self._redactor)
        done = captures.http(server, rig, folder, self._redactor, root=self._root)
        why = (
            captures.profile(server, rig, folder, root=self._root)
            if self._host.local
            else "the host is elsewhere"
        )
        self._write("server_info.json", server.run.server_info)
        self._say(f"captured {done} answers" + (f"; no trace: {why}" if why else " and a trace"))

    def _compare(self, server: RunningServer, sizes: Asked) -> int:
        """Compare, and go on where that breaks off: what else is asked of this start is worth as much."""
        try:
            word = compare(self._rig, server, sizes, self._folder)
        except (SystemExit, BenchFault) as broken:
            self._say(f"clients, {sizes.streams} streams, broke off: {broken}")
            return INVALID
        self._say(f"clients, {sizes.streams} streams: {word}")
        return CODES[word]

    def _kill(self, server: RunningServer) -> int:
        """Kill every process of the server at once, and tell when its processes and its memory are gone."""
        if not self._host.local:
            self._say("killed: the host is elsewhere, nothing was done")
            return 0
        members = [p for p in processes(self._host) if p.mark == server.run.mark or p.sid == server.run.sid]
        before = self._allocated()
        began = time.monotonic()
        for one in members:
            with contextlib.suppress(ProcessLookupError):
                os.kill(one.pid, signal.SIGKILL)
        gone, back = self._seen_gone([one.pid for one in members], began)
        slate = look(self._host, self._rig, when="after the kill", port=None, ours=frozenset())
        told = {
            "processes": len(members),
            "held_mib": before,
            "gone_after_s": gone,
            "memory_back_after_s": back,
            "clean": slate.clean,
            "findings": [one.what for one in slate.findings],
        }
        self._write("killed.json", told)
        self._say(
            f"killed {len(members)} processes that held {before} MiB: gone after {gone} s, memory back after {back} s"
        )
        return 0 if back is not None and slate.clean else FAILED

    def _seen_gone(self, pids: list[int], began: float) -> tuple[float | None, float | None]:
        """Return the seconds after which no process was left and all memory was back; None: not within BACK_S."""
        gone: float | None = None
        while (after := time.monotonic() - began) < BACK_S:
            if gone is None and not any(map(_lives, pids)):
                gone = round(after, 3)
            held = self._allocated()
            if gone is not None and (held is None or held <= self._rig.gpus.tolerance_mib):
                return gone, round(time.monotonic() - began, 3)
            time.sleep(POLL_S)
        return gone, None

    def _allocated(self) -> float | None:
        """Return MiB over all GPUs; None where the rig has none, or nobody tells."""
        gpus, _, _ = look_at_gpus(self._host, self._rig.gpus, None, ours=frozenset(), read_table=lambda _: ())
        told = [gpu.allocated_mib for gpu in gpus if gpu.allocated_mib is not None]
        return sum(told) if told else None

    def _write(self, name: str, told: object) -> None:
        clean = self._redactor.clean_json(told)
        (self._folder / name).write_text(json.dumps(clean, indent=1) + "\n", encoding="utf-8")

    def _say(self, text: str) -> None:
        print(f"[{time.monotonic() - self._began:6.1f} s] {self._redactor.clean(text)}", flush=True)


def _lives(pid: int) -> bool:
    """Say whether a process runs; one that is dead and not yet collected by its parent holds nothing."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


if __name__ == "__main__":
    raise SystemExit(main())
