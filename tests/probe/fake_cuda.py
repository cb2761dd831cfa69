"""As much of torch.cuda as the probe and the plant touch; its GPU works when told to."""

from __future__ import annotations


class FakeCuda:
    def __init__(self) -> None:
        self.capturing = False
        self.made = 0
        self.now_ms = 0.0  # the GPU's clock
        self.behind: list[Event] = []  # recorded, not reached by the GPU
        self.kernels: list[float] = []

    def is_available(self) -> bool:
        return True

    def is_current_stream_capturing(self) -> bool:
        return self.capturing

    def Event(self, *, enable_timing: bool) -> Event:  # noqa: N802 - torch's name
        assert enable_timing
        self.made += 1
        return Event(self)

    def work(self, ms: float) -> None:
        """The GPU reaches everything recorded so far; each interval between two events took so long."""
        for event in self.behind:
            event.at_ms = self.now_ms
            self.now_ms += ms
        self.behind.clear()

    def _sleep(self, cycles: int) -> None:
        self.kernels.append(cycles)


class Event:
    def __init__(self, cuda: FakeCuda) -> None:
        self._cuda = cuda
        self.at_ms: float | None = None

    def record(self) -> None:
        assert not self._cuda.capturing
        self.at_ms = None
        self._cuda.behind.append(self)

    def query(self) -> bool:
        return self.at_ms is not None

    def synchronize(self) -> None:
        self._cuda.work(10.0)

    def elapsed_time(self, later: Event) -> float:
        assert self.at_ms is not None
        assert later.at_ms is not None
        return later.at_ms - self.at_ms
