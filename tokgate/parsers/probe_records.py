"""What a probe's file says: its header, its calls, and what it lost."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tokgate.records import Record, Unread
from tokgate.records.phases import Phase

CLOCKS: dict[str, Literal["gpu", "host"]] = {"cuda-events": "gpu", "host": "host"}


class Call(NamedTuple):
    phase: Phase
    ms: float
    requests: int | None
    graph: bool | None  # None: this call does not tell
    began_ns: int  # the host's monotonic clock


class ProbeHeader(Record):
    pid: int | None
    rank: int | None
    mark: str | None
    sglang: str | None = None
    clock: str | None  # "cuda-events" or "host"; None: the probe failed before it had one
    hooked: tuple[str, ...] = ()  # "verify PATH"
    missing: tuple[str, ...] = ()  # paths that this SGLang does not have
    broken: dict[str, str] = {}  # path -> why its hook did not go in
    failed: str | None = None  # why nothing is hooked
    switch: bool | None = None
    monotonic_ns: int | None = None  # of the host, and
    epoch_ns: int | None = None  # the time of day at the same moment

    def monotonic(self, epoch_ns: int) -> int | None:
        """Return when a moment of the day was, on the clock of the calls."""
        if self.monotonic_ns is None or self.epoch_ns is None:
            return None
        return epoch_ns - self.epoch_ns + self.monotonic_ns

    def why_not(self, phase: Phase) -> str | None:
        """Return why no call of `phase` can be in the file, with the names that were looked for; None: one can."""
        if any(h.split(" ", 1)[0] == phase.value for h in self.hooked):
            return None
        tried = [f"{path} ({why})" for path, why in self.broken.items()]
        if self.failed is not None:
            broke = f"; what broke: {', '.join(tried[:12])}" if tried else ""
            sought = f"; it looked for {', '.join(self.missing[:12])}" if self.missing and not tried else ""
            return f"the probe hooked nothing: {self.failed}{broke}{sought}"
        looked = ", ".join([*tried, *self.missing][:12]) or "no name at all"
        version = f"SGLang {self.sglang}" if self.sglang else "this SGLang"
        return f"the probe found nothing to hook for {phase.value} in {version}; it looked for {looked}"

    @property
    def broken_words(self) -> str | None:
        """What broke while it was being hooked; None: nothing did. A name that is not there is no break."""
        if not self.broken:
            return None
        return f"not everything could be hooked: {', '.join(f'{p} ({why})' for p, why in list(self.broken.items())[:12])}"


class ProbeFile(Record):
    """`why` is set where the file tells nothing, and then there are no calls."""

    name: str
    header: ProbeHeader | None = None
    calls: tuple[Call, ...] = ()
    dropped: int = 0  # records the probe lost, by its own count
    dropped_why: str | None = None
    no_time: dict[Phase, int] = {}  # calls of 0 ms, which are among `unread` and not among `calls`
    ended: bool = False  # its last line is there: the process left in order
    torn: bool = False  # the last line is half a line
    why: str | None = None
    unread: tuple[Unread, ...] = ()

    @property
    def clock(self) -> Literal["gpu", "host"]:
        """The clock of its calls, in a reading's word."""
        return CLOCKS.get(self.header.clock or "host", "host") if self.header is not None else "host"

    def why_not(self, phase: Phase) -> str | None:
        """Return why the file has no call of `phase`; None: it has one, or may have had one to write."""
        why = self.header.why_not(phase) if self.header is not None else None
        if why is not None or phase not in self.no_time or any(c.phase is phase for c in self.calls):
            return why
        return (
            f"{self.name}: every call of {phase.value} that it has, {self.no_time[phase]} of them, took 0 ms"
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        found = []
        if self.header is not None and (broken := self.header.broken_words) is not None:
            found.append(f"{self.name}: {broken}")
        if self.dropped:
            found.append(
                f"{self.name}: the probe lost {self.dropped} records ({self.dropped_why or 'no reason told'})"
            )
        if self.calls and not self.ended:
            found.append(
                f"{self.name}: no end: the process was killed, its disk was full, or the file was cut"
            )
        return tuple(found)
