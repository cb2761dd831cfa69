"""The two clocks: events in the GPU's own stream, or the host's where there is no GPU."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Protocol


class Span(Protocol):
    """One interval, begun when made; `began_ns` is the host's monotonic clock."""

    began_ns: int

    def stop(self) -> None: ...

    def done(self) -> bool:
        """Whether `milliseconds` can be had without waiting."""
        ...

    def milliseconds(self) -> float:
        """Ask once: afterwards the span's events serve another."""
        ...


class Clock(Protocol):
    name: str

    def start(self) -> Span | None:
        """Begin an interval; None: not now."""
        ...


class HostClock:
    """Wall time of the call: on a CPU the work is done when it returns."""

    name = "host"

    def start(self) -> Span:
        return _HostSpan()


class _HostSpan:
    __slots__ = ("_stopped_ns", "began_ns")

    def __init__(self) -> None:
        self._stopped_ns = 0
        self.began_ns = time.monotonic_ns()

    def stop(self) -> None:
        self._stopped_ns = time.monotonic_ns()

    def done(self) -> bool:
        return True

    def milliseconds(self) -> float:
        return (self._stopped_ns - self.began_ns) / 1e6


class CudaClock:
    """Two events around what the call puts into the current stream: GPU time, whatever the host does meanwhile.

    To be asked by one thread only, the one that launches: while a graph is being captured, a question that another
    thread asks of any event makes the capture fail.
    """

    name = "cuda-events"

    def __init__(self, cuda: Any) -> None:
        self._cuda = cuda  # torch.cuda
        self._free: deque[Any] = deque(maxlen=4096)

    def start(self) -> Span | None:
        # An event recorded while a graph is captured would belong to the graph.
        if self._cuda.is_current_stream_capturing():
            return None
        return _CudaSpan(self._event(), self._event(), self._free)

    def _event(self) -> Any:
        try:
            return self._free.popleft()
        except IndexError:
            return self._cuda.Event(enable_timing=True)


class _CudaSpan:
    __slots__ = ("_begin", "_end", "_free", "began_ns")

    def __init__(self, begin: Any, end: Any, free: deque[Any]) -> None:
        self._begin, self._end, self._free = begin, end, free
        self.began_ns = time.monotonic_ns()
        begin.record()

    def stop(self) -> None:
        self._end.record()

    def done(self) -> bool:
        return bool(self._end.query())

    def milliseconds(self) -> float:
        told = float(self._begin.elapsed_time(self._end))
        self._free += (self._begin, self._end)
        return told
