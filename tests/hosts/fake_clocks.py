"""NVML with clocks: what telemetry asks on top of memory."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from tests.hosts.fake_gpus import FakeGpu, FakeNvml, FakeNvmlError


class ClockedNvml(FakeNvml):
    """Each card answers from `told`; an int in `refuses` is raised as that NVML error. Counts what it is asked."""

    NVML_CLOCK_SM = 1
    NVML_CLOCK_MEM = 2
    NVML_TEMPERATURE_GPU = 0

    def __init__(self, *gpus: FakeGpu, refuses: dict[str, int] | None = None) -> None:
        super().__init__(*gpus)
        self.refuses = refuses or {}
        self.asked: Counter[str] = Counter()
        self.sm_mhz = 1980
        self.mask = 0
        self.holds = threading.Event()  # set: the driver hangs at the next question
        self.held = threading.Event()  # it does
        self.let_go = threading.Event()

    def _answer(self, name: str, value: Callable[[], Any]) -> Any:
        self.asked[name] += 1
        if self.holds.is_set():
            self.held.set()
            self.let_go.wait(60)
        if name in self.refuses:
            raise FakeNvmlError(self.refuses[name], "Not Supported")
        return value()

    def nvmlDeviceGetClockInfo(self, handle: int, kind: int) -> int:  # noqa: N802
        if kind == self.NVML_CLOCK_SM:
            return int(self._answer("sm_mhz", lambda: self.sm_mhz))
        return int(self._answer("memory_mhz", lambda: 3201))

    def nvmlDeviceGetTemperature(self, handle: int, sensor: int) -> int:  # noqa: N802
        return int(self._answer("celsius", lambda: 52))

    def nvmlDeviceGetPowerUsage(self, handle: int) -> int:  # noqa: N802
        return int(self._answer("watts", lambda: 627_400))

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:  # noqa: N802
        return self._answer("busy_percent", lambda: SimpleNamespace(gpu=100, memory=7))

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: int) -> int:  # noqa: N802
        return int(self._answer("new name", lambda: self.mask))

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: int) -> int:  # noqa: N802
        return int(self._answer("old name", lambda: self.mask))
