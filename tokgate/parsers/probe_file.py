"""What the probe wrote inside one scheduler process (lines: probe/tokgate_probe/recorder.py).

A file that is torn, has no end, was cut at its limit or lost records still tells of the calls it has; a file without
a readable header, or of another run, tells nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from tokgate.records import Unread
from tokgate.records.phases import Phase

from .foreign_json import count, load_json, number, shown, unread
from .probe_records import CLOCKS, Call, ProbeFile, ProbeHeader

MAX_LINE = 1 << 16  # bytes; a header that names every hook has about 2 000
MAX_CALLS = 1_000_000
MAX_OTHERS = 100_000  # lines that are no calls; of losses the probe writes one a flush at most
MAX_UNREAD = 20
MOST_MS = 1e7  # nearly three hours: no call takes longer
LEAST_MS = 1e-4  # the file has four decimals; no call of a model is that short
_PHASES = {p.value: p for p in Phase if p is not Phase.REST}


def read_probe_file(
    pieces: Iterable[bytes], *, name: str, mark: str | None = None, most: int | None = None
) -> ProbeFile:
    """Read a file from its bytes, piece by piece; never raises on odd input.

    `mark` is the launch's own: a file that carries another one, or none, is of another run. `most`: calls that are kept.
    """
    reader = _Reader(name, MAX_CALLS if most is None else most)
    for line, whole in _lines(pieces):
        reader.take(line, whole=whole)
        if reader.header is None or reader.too_much:
            break
    return reader.finished(mark)


class _Reader:
    def __init__(self, name: str, most: int) -> None:
        self.name = name
        self.most = most
        self.others = 0  # lines that are no call
        self.seen = 0  # lines that are one, kept or not
        self.header: ProbeHeader | None = None
        self.calls: list[Call] = []
        self.unread: list[Unread] = []
        self.odd = 0
        self.over = 0
        self.no_time: Counter[Phase] = Counter()
        self.dropped = 0
        self.dropped_why: str | None = None
        self.ended = False
        self.torn = False
        self.number = 0

    @property
    def too_much(self) -> bool:
        """Whether what follows is not read: the file is none that a probe leaves."""
        return self.others > MAX_OTHERS or self.seen > self.most + MAX_OTHERS

    def take(self, raw: bytes, *, whole: bool) -> None:
        self.number += 1
        self.others += 1
        text = raw.decode("utf-8", "backslashreplace")
        if not text.strip() and self.header is not None:
            return
        value, why = load_json(text)
        self.torn = not whole and why is not None
        if self.header is None:
            self.header = _header(value)
            if self.header is None:
                self._odd(text, why or "no header of a probe")
        elif isinstance(value, list):
            self._call(value, text)
        elif isinstance(value, dict) and (
            (lost := count(value.get("dropped"))) is not None or value.get("end") is True
        ):
            self.dropped = max(self.dropped, lost or 0)
            self.ended = self.ended or value.get("end") is True
            if isinstance(why_lost := value.get("why"), str):
                self.dropped_why = shown(why_lost, 200)
        else:
            self._odd(text, "torn" if self.torn else why or "neither a call nor a count of losses")

    def _call(self, value: list[object], text: str) -> None:
        call = _call(value)
        if call is None:
            self._odd(text, "no call of a phase")
            return
        self.others -= 1
        self.seen += 1
        if call.ms < LEAST_MS:
            self.no_time[call.phase] += 1
        elif len(self.calls) < self.most:
            self.calls.append(call)
        else:
            self.over += 1

    def _odd(self, text: str, why: str) -> None:
        self.odd += 1
        if len(self.unread) < MAX_UNREAD:
            self.unread.append(unread(text, why, line=self.number))

    def finished(self, mark: str | None) -> ProbeFile:
        if self.over:
            self.unread.append(
                Unread(text=f"{self.over} calls", why=f"more than the {self.most} that are kept")
            )
        for phase, calls in self.no_time.items():
            self.unread.append(
                Unread(text=f"{calls} calls of {phase.value}", why="0 ms: no call of a model takes no time")
            )
        if self.odd > MAX_UNREAD:
            self.unread.append(Unread(text="", why=f"and {self.odd - MAX_UNREAD} more lines"))
        if self.too_much:
            told = f"not read beyond line {self.number}: {self.others} lines are no calls, {self.seen} are"
            self.unread.append(Unread(text="", why=told))
        why = self._why(mark)
        return ProbeFile(
            name=self.name,
            header=self.header,
            calls=() if why else tuple(self.calls),
            no_time=dict(self.no_time),
            dropped=self.dropped,
            dropped_why=self.dropped_why,
            ended=self.ended,
            torn=self.torn,
            why=why,
            unread=tuple(self.unread),
        )

    def _why(self, mark: str | None) -> str | None:
        if self.number == 0:
            return f"{self.name} is empty: the process was killed before its first write, or the disk is full"
        if self.header is None:
            return f"{self.name} has no header: not a probe's file, or its first line is torn"
        if mark is not None and self.header.mark != mark:
            whose = "carries no mark" if self.header.mark is None else f"carries the mark {self.header.mark}"
            return f"{self.name} is of another run: it {whose}, this launch has {shown(mark, 100)}"
        if self.calls:
            return None
        if self.no_time:
            return f"every call in {self.name}, {self.no_time.total()} of them, took 0 ms: no call of a model does"
        if not self.header.hooked:
            return self.header.why_not(Phase.VERIFY)
        lost = f", {self.dropped} records were lost ({self.dropped_why})" if self.dropped else ""
        return f"{self.name} has no call: nothing was decoded, or the switch was off{lost}"


def _lines(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Yield each line and whether its newline was there; of an endless line only its beginning is kept."""
    rest, skipping = b"", False
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            if not skipping:
                yield line[:MAX_LINE], True
            skipping = False
        if len(rest) > MAX_LINE:
            if not skipping:
                yield rest[:MAX_LINE], False
            rest, skipping = b"", True
    if rest and not skipping:
        yield rest, False


def _header(value: object) -> ProbeHeader | None:
    if not isinstance(value, dict) or value.get("probe") != 1:
        return None
    clock = value.get("clock")
    if clock is not None and (not isinstance(clock, str) or clock not in CLOCKS):
        return None
    switch, broken = value.get("switch"), value.get("broken")
    return ProbeHeader(
        pid=count(value.get("pid")),
        rank=count(value.get("rank")),
        mark=_text(value.get("mark"), 100),
        sglang=_text(value.get("sglang"), 40),
        clock=clock,
        hooked=_names(value.get("hooked")),
        missing=_names(value.get("missing")),
        broken={shown(k, 200): shown(v, 200) for k, v in list(broken.items())[:50]}
        if isinstance(broken, dict)
        else {},
        failed=_text(value.get("failed"), 500),
        switch=switch if isinstance(switch, bool) else None,
        monotonic_ns=_count_ns(value.get("monotonic_ns")),
        epoch_ns=_count_ns(value.get("epoch_ns")),
    )


def _text(value: object, limit: int) -> str | None:
    return shown(value, limit) if isinstance(value, str) else None


def _count_ns(value: object) -> int | None:
    """Nanoseconds since 1970 are beyond what `count` takes for a count."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < 1 << 63 else None


def _names(value: object) -> tuple[str, ...]:
    return tuple(shown(v, 200) for v in value[:200] if isinstance(v, str)) if isinstance(value, list) else ()


def _call(value: list[object]) -> Call | None:
    if len(value) != 5:
        return None
    phase = _PHASES.get(value[0]) if isinstance(value[0], str) else None
    ms, requests, began = number(value[1]), count(value[2]), _count_ns(value[4])
    if phase is None or ms is None or not 0 <= ms <= MOST_MS or began is None:
        return None
    if value[3] not in (0, 1, None) or (value[2] is not None and requests is None):
        return None
    return Call(phase, ms, requests, None if value[3] is None else bool(value[3]), began)
