"""Watching a host while a server on it is measured: GPUs, who computes on them, load."""

from __future__ import annotations

import time
from typing import Any

from tokgate.hosts.connection import Host
from tokgate.hosts.nvml import load_nvml
from tokgate.hosts.remote_runner import bootstrap
from tokgate.hosts.scripts import source
from tokgate.hosts.telemetry_fields import agree
from tokgate.hosts.telemetry_nvml import NvmlWatch
from tokgate.hosts.telemetry_rows import RowKeeper, Write
from tokgate.hosts.telemetry_stream import StreamWatch
from tokgate.parsers.telemetry_lines import HOLDER_FIELDS, PID_CELL
from tokgate.records import ServerRun
from tokgate.records.telemetry import Telemetry
from tokgate.rig.models import Rig

PERIOD_S = 0.2
# A process that computes is there for longer; asking is dearer for the driver than a clock is.
HOLDER_PERIOD_S = 1.0
# Answers that are kept, as a multiple of those asked for. More is a flood, and no news.
MOST_TIMES = 4
# After so long without a row of the GPUs somebody reads about it.
SILENT_S = 5.0
# What measuring waits for the first row, for an answer at the start, and for the end of it all.
FIRST_ROW_S = 10.0
ANSWER_S = 10.0
END_S = 3.0


class Watch:
    """What watches one launch. It is begun by `watch`; whatever goes wrong ends the telemetry and is told by it."""

    def __init__(self, gpus: int, write: Write) -> None:
        self._gpus = gpus
        self._keeper = RowKeeper(write)
        self._began = time.monotonic()
        self._source: Any = "none"
        self._nvml: NvmlWatch | None = None
        self._stream: StreamWatch | None = None

    def end(self) -> Telemetry:
        """Stop watching, and say how it went. Bounded in time; never raises."""
        for kind in ("gpus", "host"):
            if self._keeper.rows[kind]:
                self._keeper.wait_for_next(kind, 2 * PERIOD_S)
        silent_s = self._keeper.longest_silence_s("gpus", time.monotonic_ns())
        if silent_s > SILENT_S:
            self._keeper.problem(f"{self._source} told nothing of the GPUs for {silent_s:.1f} s on end")
        if self._nvml is not None:
            self._nvml.end(END_S)
        if self._stream is not None:
            self._stream.end(END_S)
        self._keeper.close()
        costs = [w.cpu_s for w in (self._nvml, self._stream) if w is not None and w.cpu_s is not None]
        return Telemetry(
            source=self._source,
            gpus=self._gpus,
            period_s=PERIOD_S,
            rows=dict(self._keeper.rows),
            hz=self._keeper.hz(),
            dropped=self._keeper.dropped,
            missing=self._keeper.missing,
            problems=tuple(self._keeper.problems),
            unread=tuple(self._keeper.unread),
            wall_s=time.monotonic() - self._began,
            cpu_s=sum(costs) if costs else None,
        )

    def begin(self, host: Host, rig: Rig, server: dict[str, Any] | None, nvml: Any | None) -> None:
        limit_s = min(ANSWER_S, host.spec.command_timeout_s)
        if rig.gpus.count and host.local and rig.gpus.reader == "auto":
            library = nvml or load_nvml()
            if library is not None and self._begin_nvml(library, server, limit_s):
                return
        self._begin_stream(host, rig, server, limit_s)

    def _begin_nvml(self, library: Any, server: dict[str, Any] | None, limit_s: float) -> bool:
        nvml = NvmlWatch(
            library, self._keeper, server=server, period_s=PERIOD_S, holder_period_s=HOLDER_PERIOD_S
        )
        refusal = nvml.start(limit_s)
        if refusal is not None:
            # nvidia-smi may know more, or says in the driver's own words what is wrong.
            self._keeper.problem(f"{refusal}; nvidia-smi is asked instead")
            return False
        self._nvml, self._source = nvml, "nvml"
        self._keeper.wait_for_first("gpus", limit_s)
        return True

    def _begin_stream(self, host: Host, rig: Rig, server: dict[str, Any] | None, limit_s: float) -> None:
        order: dict[str, Any] = {
            "period_s": PERIOD_S,
            "limit_s": rig.server.time_limit_s,
            "server": server,
            "gpus": None,
            "holders": None,
        }
        fields, index_of = {}, {}
        if rig.gpus.count:
            agreed = agree(host, timeout_s=limit_s)
            self._keeper.lacks(agreed.missing)
            if agreed.problem is not None:
                self._keeper.problem(agreed.problem)
            else:
                fields, index_of = dict(agreed.fields), dict(agreed.index_of)
                order["gpus"] = {
                    "argv": _repeated(f"--query-gpu={','.join(fields.values())}", round(PERIOD_S * 1000)),
                    "rows": len(index_of),
                    "most_s": MOST_TIMES / PERIOD_S,
                }
                order["holders"] = {
                    "argv": _repeated(
                        f"--query-compute-apps={','.join(HOLDER_FIELDS)}", round(HOLDER_PERIOD_S * 1000)
                    ),
                    "pid_cell": PID_CELL,
                    "most_s": MOST_TIMES / HOLDER_PERIOD_S,
                }
                self._source = "nvidia-smi"
        program = source("telemetry")
        argv = host.popen_command(bootstrap(host.spec.python, program))
        try:
            self._stream = StreamWatch(argv, program, order, self._keeper, fields=fields, index_of=index_of)
        except OSError as error:
            self._keeper.problem(f"{argv[0]} could not be started here: {error}")
            return
        if not self._keeper.wait_for_first("gpus" if order["gpus"] else "host", FIRST_ROW_S):
            self._keeper.problem(f"not one row came within {FIRST_ROW_S:g} s")


def watch(host: Host, rig: Rig, server: ServerRun, *, write: Write, nvml: Any | None = None) -> Watch:
    """Begin to watch, and come back when the first row is there or will not come.

    NVML inside this process where the host is this machine and the rig does not say otherwise (`nvml`: the
    library, else the installed one); else one nvidia-smi on the host that repeats its answer. A rig without
    GPUs watches the host's load alone. `write` gets whole lines of telemetry.jsonl. Never raises for what
    host or driver do: a measurement stands without telemetry, and says so.
    """
    whose = {
        "pid": server.pid,
        "start_ticks": server.start_ticks,
        "sid": server.sid,
        "mark": server.mark,
    }
    watching = Watch(rig.gpus.count, write)
    watching.begin(host, rig, whose, nvml)
    return watching


def _repeated(question: str, period_ms: int) -> list[str]:
    # Seen on an H200, driver 580: answers come period_ms apart, their own time included, each written at once
    # also into a pipe; nothing at all is written where nobody computes.
    return ["nvidia-smi", question, "--format=csv,noheader,nounits", "-lms", str(period_ms)]
