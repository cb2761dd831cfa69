"""The two clocks: events in the GPU's own stream, or the host's where there is no GPU."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Protocol


class Span(Protocol):
    """One interval, started when made."""

    def stop(self) -> None: ...

    def done(self) -> bool:
        """Whether `milliseconds` can be had without waiting."""
        ...

    def milliseconds(self) -> float: ...


class HostClock:
    """Wall time of the call: on a CPU the work is done when it returns."""

    name = "host"

    def usable(self) -> bool:
        return True

    def start(self) -> Span:
        return _HostSpan()


class _HostSpan:
    def __init__(self) -> None:
        self._stop = 0
        self._start = time.perf_counter_ns()

    def stop(self) -> None:
        self._stop = time.perf_counter_ns()

    def done(self) -> bool:
        return True

    def milliseconds(self) -> float:
        return (self._stop - self._start) / 1e6


class CudaClock:
    """Two events around what the call puts into the current stream: GPU time, whatever the host does meanwhile."""

    name = "cuda-events"

    def __init__(self, torch: Any) -> None:
        self._cuda = torch.cuda
        self._free: deque[Any] = deque(maxlen=4096)

    def usable(self) -> bool:
        """An event recorded while a graph is captured would belong to the graph."""
        return not self._cuda.is_current_stream_capturing()

    def start(self) -> Span:
        return _CudaSpan(self._event(), self._event(), self._free)

    def _event(self) -> Any:
        try:
            return self._free.popleft()
        except IndexError:
            return self._cuda.Event(enable_timing=True)


class _CudaSpan:
    def __init__(self, begin: Any, end: Any, free: deque[Any]) -> None:
        self._begin, self._end, self._free = begin, end, free
        begin.record()

    def stop(self) -> None:
        self._end.record()

    def done(self) -> bool:
        return bool(self._end.query())

    def milliseconds(self) -> float:
        told = float(self._begin.elapsed_time(self._end))
        self._free += (self._begin, self._end)
        return told
