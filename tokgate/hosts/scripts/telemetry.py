"""Watches a host while it is measured: its load, and what nvidia-smi streams about its GPUs.

stdin: one JSON line, then nothing; at its end the watching ends, so that it never outlives the gate, and so it does when the
server that is watched is gone:
    {"period_s": 0.2, "limit_s": 3600, "server": {"pid": 1, "start_ticks": 2, "sid": 1, "mark": text} or null,
     "gpus": {"argv": [...], "rows": 8, "most_s": 20} or null,
     "holders": {"argv": [...], "pid_cell": 2, "most_s": 4} or null}          most_s: answers a second, of what is kept
stdout: JSON lines, each with "h", this host's monotonic seconds:
    {"k": "host", "n": 1, "load1": 0.5, "busy": 1, "steal": 0, "total": 2}
    {"k": "gpus", "n": 1, "rows": [one CSV line a GPU]}
    {"k": "holders", "n": 1, "rows": [one CSV line a process], "starts": {pid: start ticks or null}}
    {"k": "process", "pid": 1, "start_ticks": 2, "user": text, "command": text, "ours": true}
    {"k": "ended", "what": text}           a stream that ended; the others go on
    {"k": "problem", "what": text}         what else the reader should know of a stream
    {"k": "end", "cpu_s": 0.1}             the last line: what all of this cost

An nvidia-smi that is started anew for every look costs the host more than what it measures, and each start
takes locks in the driver; so there is one that keeps running for each question.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import pwd
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

PROC = Path("/proc")
PR_SET_PDEATHSIG = 1  # linux/prctl.h
# Rows of one answer come in a burst; a pause this long ends it where their number does not.
QUIET_S = 0.1
# A line longer than this is no answer to what was asked; of a row so much is passed on.
LONGEST_LINE = 65536
LONGEST_ROW = 1024
# What floods is read no faster than this, and blocks on its pipe meanwhile: 1.6 MB a second.
PIECE = 4096
PIECES, PIECES_S = 40, 0.1
# An answer with more rows is none: half of it must not look like all. Backlog of a slow moment may come at once.
MOST_ROWS = 512
MEAN_S = 5.0
# Processes that are looked up; a stranger is one without it, too.
MOST_PROCESSES = 4096
SHOWN = 500
ANCESTORS = 64
END_S = 0.5
# A gate that is still there ends the watching sooner than this after its server has died.
LEFT_S = 15.0


def main() -> None:
    order = json.loads(sys.stdin.buffer.readline())
    # Should even writing block for good (a connection half open), this ends us.
    signal.alarm(max(1, int(order["limit_s"])))
    watcher = Watcher(order)
    try:
        watcher.run()
    except BrokenPipeError:
        os._exit(0)
    finally:
        watcher.end()


def host_load() -> dict[str, Any]:
    """Return load1 and the clock ticks that all cores spent since boot; null where /proc does not tell."""
    told: dict[str, Any] = {"load1": None, "busy": None, "steal": None, "total": None}
    with contextlib.suppress(OSError, ValueError, IndexError):
        told["load1"] = float((PROC / "loadavg").read_text().split()[0])
    with contextlib.suppress(OSError, ValueError, IndexError):
        with (PROC / "stat").open("rb") as file:
            ticks = [int(cell) for cell in file.readline().split()[1:9]]
        # user nice system idle iowait irq softirq steal; what follows is counted in user already.
        user, nice, system, _idle, _iowait, irq, softirq, steal = ticks
        told.update(busy=user + nice + system + irq + softirq, steal=steal, total=sum(ticks))
    return told


def describe(pid: int, server: dict[str, Any] | None) -> dict[str, Any]:
    """Return who a process is, and whether it belongs to the server: by ancestors, session or mark."""
    row = stat(pid)
    told: dict[str, Any] = {"pid": pid, "start_ticks": None, "user": None, "command": None, "ours": None}
    if row is None:
        return told
    comm, ppid, sid, start = row
    cmdline = read(PROC / str(pid) / "cmdline").rstrip(b"\0").replace(b"\0", b" ")
    told.update(
        start_ticks=start,
        user=user_of(pid),
        command=(cmdline.decode("utf-8", "backslashreplace") or comm)[:SHOWN],
    )
    if server is not None:
        told["ours"] = (
            descends(pid, start, ppid, server)
            or (sid == server["sid"] and start >= server["start_ticks"])
            or f"TOKGATE_MARK={server['mark']}".encode() in read(PROC / str(pid) / "environ").split(b"\0")
        )
    return told


def descends(pid: int, start: int, ppid: int, server: dict[str, Any]) -> bool:
    for _ in range(ANCESTORS):
        if pid == server["pid"]:
            return bool(start == server["start_ticks"])
        row = stat(ppid) if ppid > 0 else None
        if row is None:
            return False
        pid, (_, ppid, _, start) = ppid, row
    return False


def stat(pid: int) -> tuple[str, int, int, int] | None:
    """Return comm, ppid, sid and start time."""
    text = read(PROC / str(pid) / "stat").decode("utf-8", "backslashreplace")
    head, closed, rest = text.rpartition(")")
    cells = rest.split()
    if not closed or len(cells) < 20:
        return None
    return head.partition("(")[2], int(cells[1]), int(cells[3]), int(cells[19])


def user_of(pid: int) -> str | None:
    try:
        uid = (PROC / str(pid)).stat().st_uid
    except OSError:
        return None
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


class Allowance:
    """So many in every `span_s`."""

    def __init__(self, most: float, span_s: float) -> None:
        self._most = most
        self._span_s = span_s
        self.renewed_at = 0.0
        self._used = 0

    def take(self) -> bool:
        now = time.monotonic()
        if now >= self.renewed_at:
            self.renewed_at, self._used = now + self._span_s, 0
        self._used += 1
        return self._used <= self._most


class Stream:
    """One nvidia-smi that repeats its answer; `rows`: how many lines an answer has, where that is known."""

    def __init__(self, kind: str, argv: list[str], rows: int | None, most_s: float) -> None:
        self.kind = kind
        self.rows = rows
        self.pending: list[str] = []
        self.dropped = 0
        self.rests_until: float | None = None
        self._surplus = 0
        self._most_s = most_s
        self._answers = Allowance(most_s * MEAN_S, MEAN_S)
        self._pieces = Allowance(PIECES, PIECES_S)
        self.heard = time.monotonic()
        self._rest = b""
        self._last = ""
        self._process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - this program has no other threads
        )
        if self._process.stdout is None:
            raise AssertionError("it was asked for")
        self.handle = self._process.stdout.fileno()

    def read(self) -> list[list[str]] | None:
        """Return the answers that are whole now; None at the end."""
        piece = os.read(self.handle, PIECE)
        if not piece:
            return None
        if not self._pieces.take():
            self.rests_until = self._pieces.renewed_at
        self.heard = time.monotonic()
        *lines, self._rest = (self._rest + piece).split(b"\n")
        self._rest = self._rest[-LONGEST_LINE:]
        whole = []
        for raw in lines:
            line = raw[:LONGEST_ROW].decode("utf-8", "backslashreplace").strip()
            if not line:
                continue
            self._last = line
            if self.rows and self.pending and first_cell(line) == first_cell(self.pending[0]):
                # A row is missing: the next answer has begun.
                whole.append(self.take())
            if len(self.pending) == MOST_ROWS:
                self._surplus += 1
                continue
            self.pending.append(line)
            if len(self.pending) == self.rows:
                whole.append(self.take())
        return whole

    def take(self) -> list[str]:
        """Return the rows of an answer; none where there are too many of them, or too many answers."""
        rows, self.pending = self.pending, []
        surplus, self._surplus = self._surplus, 0
        if surplus or not self._answers.take():
            self.dropped += len(rows) + surplus
            return []
        return rows

    def flooded(self) -> str | None:
        lost = self.dropped + (len(self.pending) + self._surplus if self._surplus else 0)
        if not lost:
            return None
        return (
            f"nvidia-smi ({self.kind}) floods: {lost} rows were dropped, beyond {self._most_s:g} answers a second "
            f"or {MOST_ROWS} rows an answer"
        )

    def quiet(self, now: float) -> bool:
        return bool(self.pending) and now - self.heard >= QUIET_S

    def end(self, *, closed: bool = False) -> str:
        """End it and say how it ended; `closed`: its output has ended, so it may be about to."""
        if closed:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
        alone = self._process.poll()
        if alone is None:
            # It holds nothing that it would have to put back, and hears TERM only between two answers.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
        how = "was stopped" if alone is None else f"ended with {alone}"
        return f"nvidia-smi ({self.kind}) {how}" + (f": {self._last[:SHOWN]}" if self._last else "")


def first_cell(line: str) -> str:
    return line.partition(",")[0]


def die_with_parent() -> None:
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


class Watcher:
    def __init__(self, order: dict[str, Any]) -> None:
        self._server = order["server"]
        self._period_s = order["period_s"]
        self._pid_cell = (order["holders"] or {}).get("pid_cell", 0)
        self._count: dict[str, int] = {}
        self._known: set[tuple[int, int | None]] = set()
        self._server_seen: float | None = None
        self._selector = selectors.DefaultSelector()
        self._selector.register(0, selectors.EVENT_READ, None)
        self._streams: list[Stream] = []
        for kind in ("gpus", "holders"):
            if order[kind] is not None:
                self._start(kind, order[kind])

    def _start(self, kind: str, what: dict[str, Any]) -> None:
        try:
            stream = Stream(kind, what["argv"], what.get("rows"), what["most_s"])
        except OSError as error:
            self._say("ended", what=f"nvidia-smi ({kind}) could not be started: {error}")
            return
        self._streams.append(stream)
        self._selector.register(stream.handle, selectors.EVENT_READ, stream)

    def run(self) -> None:
        due = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= due:
                if self._server_left(now):
                    return
                self._say("host", **host_load())
                # Late once is not early the next time.
                due = max(due + self._period_s, now)
            for stream in self._streams:
                if stream.quiet(now):
                    self._answer(stream, stream.take())
                if stream.rests_until is not None and now >= stream.rests_until:
                    stream.rests_until = None
                    self._selector.register(stream.handle, selectors.EVENT_READ, stream)
            rests = [s.rests_until for s in self._streams if s.rests_until is not None]
            wait = min([due, *rests, *(s.heard + QUIET_S for s in self._streams if s.pending)]) - now
            for key, _ in self._selector.select(max(0.0, wait)):
                if key.data is None:
                    if not os.read(0, 4096):
                        return
                else:
                    self._listen(key.data)

    def _server_left(self, now: float) -> bool:
        """Say whether the server has been gone for so long that nobody watches any more.

        Its supervisor ends it when the gate is gone. Of a network that is down nobody is told, and this program neither.
        """
        if self._server is None:
            return False
        row = stat(self._server["pid"])
        if row is not None and row[3] == self._server["start_ticks"]:
            self._server_seen = now
        return self._server_seen is not None and now - self._server_seen > LEFT_S

    def _listen(self, stream: Stream) -> None:
        answers = stream.read()
        if answers is None or stream.rests_until is not None:
            self._selector.unregister(stream.handle)
        if answers is None:
            self._streams.remove(stream)
            if stream.pending:
                self._answer(stream, stream.take())
            self._warn(stream)
            self._say("ended", what=stream.end(closed=True))
            return
        for rows in answers:
            self._answer(stream, rows)

    def _warn(self, stream: Stream) -> None:
        if (what := stream.flooded()) is not None:
            self._say("problem", what=what)

    def _answer(self, stream: Stream, rows: list[str]) -> None:
        if not rows:
            return
        if stream.kind == "gpus":
            self._say("gpus", rows=rows)
            return
        starts = {}
        for row in rows:
            cells = row.split(",")
            pid = cells[self._pid_cell].strip() if len(cells) > self._pid_cell else ""
            if pid.isdigit():
                starts[pid] = self._introduce(int(pid))
        self._say("holders", rows=rows, starts=starts)

    def _introduce(self, pid: int) -> int | None:
        """Say who it is when it is new; return its start time."""
        row = stat(pid)
        key = (pid, row[3] if row is not None else None)
        if key not in self._known and len(self._known) < MOST_PROCESSES:
            self._known.add(key)
            self._say("process", **describe(pid, self._server))
        return key[1]

    def _say(self, kind: str, **told: Any) -> None:
        self._count[kind] = self._count.get(kind, 0) + 1
        line = {"k": kind, "n": self._count[kind], "h": round(time.monotonic(), 4), **told}
        # In one write, so that a reader never waits for half a line.
        os.write(1, json.dumps(line, separators=(",", ":")).encode() + b"\n")

    def end(self) -> None:
        for stream in self._streams:
            stream.end()
            with contextlib.suppress(OSError):
                self._warn(stream)
        used = os.times()
        cpu_s = used.user + used.system + used.children_user + used.children_system
        with contextlib.suppress(OSError):
            self._say("end", cpu_s=round(cpu_s, 3))


if __name__ == "__main__":
    main()
