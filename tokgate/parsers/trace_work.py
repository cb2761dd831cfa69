"""What a GPU did during a torch profile: marks, kernels with the call that launched them, and when any of them ran."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from itertools import accumulate

from .foreign_json import count, number, shown
from .torch_trace import MOST_US
from .trace_marks import Mark, phase_of

MAX_KERNELS = 1_000_000
MAX_MARKS = 200_000
MAX_NAMES = 20_000
MOST_AT_US = 1e17  # three thousand years from the clock's own zero, whichever it is
_AT_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


class TraceEvents:
    """Columns of one entry a kernel, copy or fill; times in microseconds on the trace's own clock."""

    def __init__(self) -> None:
        self.marks: dict[str, list[Mark]] = {"gpu_user_annotation": [], "user_annotation": []}
        self.names: dict[str, int] = {}
        self.at = array("d")
        self.length = array("d")
        self.which = array("i")  # -1: a copy or a fill
        self.launched_by = array("q")  # correlation; -1: not told
        self.graph_launches: dict[int, float] = {}
        self.dropped = 0

    def take(self, event: dict[str, object]) -> None:
        kind, name = event.get("cat"), event.get("name")
        at, length = number(event.get("ts")), number(event.get("dur"))
        if (
            not isinstance(kind, str)
            or not isinstance(name, str)
            or at is None
            or length is None
            or not 0 <= length <= MOST_US
            or abs(at) > MOST_AT_US
        ):
            return
        if kind in self.marks:
            phase = phase_of(name)
            if phase is None:
                return
            if len(self.marks[kind]) < MAX_MARKS:
                self.marks[kind].append(Mark(at, at + length, phase))
            else:
                self.dropped += 1
        elif kind in _AT_WORK:
            self._work(kind == "kernel", shown(name, 300), at, length, _correlation(event))
        elif kind in ("cuda_runtime", "cuda_driver") and name.endswith("GraphLaunch"):
            told = _correlation(event)
            if told >= 0 and len(self.graph_launches) < MAX_MARKS:
                self.graph_launches[told] = at

    def _work(self, kernel: bool, name: str, at: float, length: float, launched_by: int) -> None:
        if len(self.at) >= MAX_KERNELS or (
            kernel and len(self.names) >= MAX_NAMES and name not in self.names
        ):
            self.dropped += 1
            return
        self.at.append(at)
        self.length.append(length)
        self.which.append(self.names.setdefault(name, len(self.names)) if kernel else -1)
        self.launched_by.append(launched_by)


class GpuWork:
    """Kernels in the order of time, and the stretches in which at least one of them works."""

    def __init__(self, events: TraceEvents) -> None:
        self.order = sorted(range(len(events.at)), key=events.at.__getitem__)
        self.at = [events.at[i] for i in self.order]
        self._begins: list[float] = []
        self._ends: list[float] = []
        for i in self.order:
            begin, end = events.at[i], events.at[i] + events.length[i]
            if self._ends and begin <= self._ends[-1]:
                self._ends[-1] = max(self._ends[-1], end)
            else:
                self._begins.append(begin)
                self._ends.append(end)
        told = [events.which[i] >= 0 and events.launched_by[i] >= 0 for i in self.order]
        by_graph = (
            t and events.launched_by[i] in events.graph_launches
            for t, i in zip(told, self.order, strict=True)
        )
        self._told = [0, *accumulate(told)]
        self._by_graph = [0, *accumulate(by_graph)]
        self._before = [0.0]
        for begin, end in zip(self._begins, self._ends, strict=True):
            self._before.append(self._before[-1] + end - begin)

    def inside(self, begin: float, end: float) -> list[int]:
        return self.order[bisect_left(self.at, begin) : bisect_left(self.at, end)]

    def launched(self, begin: float, end: float) -> tuple[int, int]:
        """Return how many kernels inside tell what launched them, and how many of these the launch of a graph.

        By sums from the first kernel on: marks that overlap may have the same kernels in them many times.
        """
        first, last = bisect_left(self.at, begin), bisect_left(self.at, end)
        return self._told[last] - self._told[first], self._by_graph[last] - self._by_graph[first]

    def busy(self, begin: float, end: float) -> float:
        """Microseconds between two moments with something at work."""
        return max(0.0, self._until(end) - self._until(begin))

    def _until(self, moment: float) -> float:
        last = bisect_right(self._begins, moment) - 1
        if last < 0:
            return 0.0
        return self._before[last] + min(moment, self._ends[last]) - self._begins[last]


def _correlation(event: dict[str, object]) -> int:
    args = event.get("args")
    told = count(args.get("correlation")) if isinstance(args, dict) else None
    return -1 if told is None else told
