"""GPUs of this machine, several times a second, through NVML in a thread of this process.

The library is an argument. Its calls release Python's lock while the driver works, so that the thread never
holds up the stamping of arrivals for longer than it takes to pack a handful of numbers.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

from tokgate.hosts.scripts.telemetry import describe, host_load, stat
from tokgate.hosts.telemetry_rows import RowKeeper
from tokgate.records.telemetry import GpuNow, GpuRow, HolderRow, Holding, HostRow, ProcessRow

MIB = 1024 * 1024
_NUMBERS = ("sm_mhz", "memory_mhz", "celsius", "watts", "busy_percent", "reasons")
# nvml.h: not supported, no permission, no such function in this driver, invalid argument. Asking again is useless.
_NEVER = frozenset({2, 3, 4, 13})

Questions = dict[str, tuple[Callable[[Any], float], ...]]


class NvmlWatch:
    """Keeps GPU, holder and host rows until told to end. A driver that hangs holds this thread and nothing else."""

    def __init__(
        self,
        nvml: Any,
        keeper: RowKeeper,
        *,
        server: dict[str, Any] | None,
        period_s: float,
        holder_period_s: float,
    ) -> None:
        self._nvml = nvml
        self._keeper = keeper
        self._server = server
        self._period_s = period_s
        self._holder_period_s = holder_period_s
        self._questions = _questions(nvml)
        # What a card has refused for good is not asked of it again.
        self._refused: set[tuple[int, str]] = set()
        self._known: set[tuple[int, int | None]] = set()
        self._handles: dict[int, Any] = {}
        self._seq = 0
        self._usable = threading.Event()
        self._stop = threading.Event()
        self._ended = threading.Event()
        self._refusal: str | None = None
        self.cpu_s: float | None = None
        self._thread = threading.Thread(target=self._run, daemon=True, name="tokgate-telemetry")

    def start(self, limit_s: float) -> str | None:
        """Begin; return why NVML is of no use, or None: it answers."""
        self._thread.start()
        if not self._usable.wait(limit_s):
            self._stop.set()
            return f"NVML did not answer within {limit_s:g} s: the GPU driver hangs"
        return self._refusal

    def end(self, limit_s: float) -> None:
        self._stop.set()
        if not self._ended.wait(limit_s):
            # A call into a hung driver cannot be interrupted; the thread is left behind.
            self._keeper.problem(f"NVML did not come back within {limit_s:g} s: the GPU driver hangs")

    def _run(self) -> None:
        try:
            self._watch()
        except Exception as error:  # noqa: BLE001 - whatever a library raises here costs the telemetry alone
            self._refusal = f"NVML broke off: {error!r}"
            if self._usable.is_set():
                self._keeper.problem(self._refusal)
                self._keeper.give_up("gpus")
        finally:
            self.cpu_s = time.thread_time()
            self._usable.set()
            self._ended.set()

    def _watch(self) -> None:
        self._nvml.nvmlInit()
        try:
            for index in range(self._nvml.nvmlDeviceGetCount()):
                self._handles[index] = self._nvml.nvmlDeviceGetHandleByIndex(index)
            self._usable.set()
            due = holders_due = time.monotonic()
            while not self._stop.is_set():
                self._look()
                if due >= holders_due:
                    holders_due = due + self._holder_period_s - self._period_s / 2
                    self._look_at_holders()
                due = max(due + self._period_s, time.monotonic())
                self._stop.wait(due - time.monotonic())
        finally:
            with contextlib.suppress(self._nvml.NVMLError):
                self._nvml.nvmlShutdown()

    def _look(self) -> None:
        gpus = []
        for index, handle in self._handles.items():
            told = {name: self._ask(index, handle, name) for name in _NUMBERS}
            reasons = told.pop("reasons")
            gpus.append(GpuNow(gpu=index, reasons=None if reasons is None else int(reasons), **told))
        self._seq += 1
        self._keeper.keep(GpuRow(at_ns=time.monotonic_ns(), seq=self._seq, gpus=tuple(gpus)))
        load = host_load()
        self._keeper.keep(HostRow(at_ns=time.monotonic_ns(), seq=self._seq, **load))

    def _ask(self, index: int, handle: Any, name: str) -> float | None:
        if (index, name) in self._refused:
            return None
        for ask in self._questions[name]:
            try:
                return ask(handle)
            except self._nvml.NVMLError as error:
                why = error
        if getattr(why, "value", None) in _NEVER:
            self._refused.add((index, name))
            self._keeper.lacks({name: f"GPU {index}: {why}"})
        else:
            self._keeper.problem(f"GPU {index} does not tell {name}: {why}")
        return None

    def _look_at_holders(self) -> None:
        found = []
        for index, handle in self._handles.items():
            try:
                running = self._nvml.nvmlDeviceGetComputeRunningProcesses(handle)
            except self._nvml.NVMLError as error:
                # Half an answer must not look like nobody.
                self._keeper.lacks({"holders": f"GPU {index}: {error}"})
                return
            for process in running:
                used = process.usedGpuMemory
                found.append(
                    Holding(
                        gpu=index,
                        pid=process.pid,
                        start_ticks=self._introduce(process.pid),
                        used_mib=None if used is None else used / MIB,
                        name=None,
                    )
                )
        self._keeper.keep(HolderRow(at_ns=time.monotonic_ns(), seq=self._seq, holders=tuple(found)))

    def _introduce(self, pid: int) -> int | None:
        """Keep who it is when it is new; return its start time."""
        row = stat(pid)
        key = (pid, row[3] if row is not None else None)
        if key not in self._known:
            self._known.add(key)
            self._keeper.keep(ProcessRow(at_ns=time.monotonic_ns(), **describe(pid, self._server)))
        return key[1]


def _questions(nvml: Any) -> Questions:
    """Return how each number is asked for, today's way first: bindings and drivers lack the newer names."""
    reasons = [
        getattr(nvml, name)
        for name in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
        if hasattr(nvml, name)
    ]
    return {
        "sm_mhz": (lambda h: nvml.nvmlDeviceGetClockInfo(h, nvml.NVML_CLOCK_SM),),
        "memory_mhz": (lambda h: nvml.nvmlDeviceGetClockInfo(h, nvml.NVML_CLOCK_MEM),),
        "celsius": (lambda h: nvml.nvmlDeviceGetTemperature(h, nvml.NVML_TEMPERATURE_GPU),),
        "watts": (lambda h: nvml.nvmlDeviceGetPowerUsage(h) / 1000,),
        "busy_percent": (lambda h: nvml.nvmlDeviceGetUtilizationRates(h).gpu,),
        "reasons": tuple(reasons),
    }
