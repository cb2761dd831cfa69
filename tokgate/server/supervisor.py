"""Hold one server on its host, and end it: when told, when the gate is gone, or when its time is up.

Standard library only, Python >= 3.9, one file: it is copied to the host and runs there by itself.

It reads JSON lines. The first is the order:
    {"line": shell line, "environment": {the server's whole environment}, "log": path, "cwd": path,
     "mark": value of TOKGATE_MARK, "folder": path, "stop_timeout_s": 60, "time_limit_s": 3600,
     "gate": {"pid": 1, "start_ticks": 2} or null, "heartbeat_limit_s": 60 or null}
and later ones are {"state": N}, {"heartbeat": N}, {"stop": N}, and {"abandon": N}, a stop that does not wait
for requests in flight. An order {"sweep": mark} instead starts
nothing and ends whatever still carries that mark. It writes JSON lines:
    {"event": "started", "pid": 1, "start_ticks": 2, "sid": 1, "subreaper": true}
    {"event": "refused", "why": "log-not-writable" | "no-shell" | "bad-order", "detail": text}
    {"event": "state", "state": N, "alive": true, "log_bytes": 3 or null}
    {"event": "exited", "rc": 1 or null, "signal": null or 9}
    {"event": "stopped", "reason": text, "asked": "term" | "none", "killed": false, "seconds": 4.1,
     "survivors": [{"pid": 1, "start_ticks": 2, ...}], "rc": 0, "signal": null}

When is the gate gone? With "heartbeat_limit_s" null (same machine): at the end of stdin, or when the process
"gate" is no more, for a forked child of the gate may hold the pipe open. With a limit (ssh): when nothing
was heard for so long. There the end of stdin alone ends nothing, for a dropped connection is a fault of the
network: until the limit the gate may come back through the folder, by touching `heartbeat` or creating
`stop`, and read in `events` what it missed.

Whose is a process? Ours are the descendants of this program (a subreaper: what daemonises comes back to it),
the members of the server's session, whatever was seen as one of these before, and what carries the mark in
its environment. Each is known by pid and start time together; nothing else is ever signalled.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

PR_SET_PDEATHSIG = 1  # linux/prctl.h
PR_SET_CHILD_SUBREAPER = 36
# The main process has ended: its children get this long to notice. SGLang's own watchdog looks every 5 s.
CHILDREN_S = 6.0
# TERM to KILL when nobody waits for the answers any more: enough for an idle server, too little to drain one.
ABANDONED_S = 5.0
# From KILL until a process that is still there counts as a survivor (a driver may hold it in state D).
KILLED_S = 30.0
# Looking at all of /proc may take no more than this share of one core: the server is being measured, and a
# subreaper would find its own even without having looked.
LOOK_SHARE = 0.001
LOOK_S = 1.0
SHELLS = ("sh", "dash", "bash", "ash", "busybox")


class Row(NamedTuple):
    pid: int
    start_ticks: int
    ppid: int
    pgid: int
    sid: int
    state: str
    comm: str


def read_row(pid: int) -> Row | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes().decode("utf-8", "replace")
    except OSError:
        return None
    # The name stands in brackets and may itself contain blanks and brackets.
    head, _, rest = text.rpartition(")")
    field = rest.split()
    comm = head.partition("(")[2]
    return Row(pid, int(field[19]), int(field[1]), int(field[2]), int(field[3]), field[0], comm)


def read_rows() -> dict[int, Row]:
    rows = (read_row(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    return {row.pid: row for row in rows if row is not None}


def carries(pid: int, mark: str) -> bool:
    try:
        return f"TOKGATE_MARK={mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False


def is_gone(row: Row) -> bool:
    """Return whether nothing but an entry in the process table is left of it.

    A main thread that has ended is a zombie even while other threads of it still hang in a driver.
    """
    if row.state not in "ZX":
        return False
    try:
        return len(list(Path(f"/proc/{row.pid}/task").iterdir())) <= 1
    except OSError:
        return True


def send(row: Row, number: int) -> None:
    """Signal exactly this process: a pidfd taken before the start time is checked cannot change hands."""
    handle = None
    try:
        with contextlib.suppress(AttributeError):  # a Python built without it
            handle = os.pidfd_open(row.pid)
    except ProcessLookupError:
        return
    except OSError:  # a kernel before 5.3
        pass
    try:
        now = read_row(row.pid)
        if now is None or now.start_ticks != row.start_ticks:
            return
        if handle is None:
            os.kill(row.pid, number)
        else:
            signal.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError):
        return
    finally:
        if handle is not None:
            os.close(handle)


def reap(*, except_pid: int | None) -> None:
    """Bury adopted children; the main process stays unburied so that its pid cannot change hands."""
    me = os.getpid()
    for row in read_rows().values():
        if row.ppid == me and row.state == "Z" and row.pid != except_pid:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(row.pid, os.WNOHANG)


class Family:
    """Every process that this launch has put into the world."""

    def __init__(self, mark: str) -> None:
        self.mark = mark
        self.main_pid: int | None = None  # also the session and the group
        self.seen: set[tuple[int, int]] = set()

    def look(self, *, by_mark: bool) -> list[Row]:
        """Return the living members, and remember them. By mark costs reading every environment."""
        rows = read_rows()
        me = os.getpid()
        ours = {r.pid for r in rows.values() if (r.pid, r.start_ticks) in self.seen or r.sid == self.main_pid}
        if by_mark:
            ours |= {pid for pid in rows if pid not in ours and carries(pid, self.mark)}
        ours.add(me)
        children: dict[int, list[int]] = {}
        for row in rows.values():
            children.setdefault(row.ppid, []).append(row.pid)
        queue = list(ours)
        while queue:
            fresh = [pid for pid in children.get(queue.pop(), ()) if pid not in ours]
            ours.update(fresh)
            queue.extend(fresh)
        ours.discard(me)
        members = [rows[pid] for pid in sorted(ours)]
        self.seen |= {(row.pid, row.start_ticks) for row in members}
        return [row for row in members if not is_gone(row)]

    def end(self) -> tuple[bool, list[Row]]:
        """KILL by group, then one by one, until all are gone; return whether that was needed and who stayed."""
        limit = time.monotonic() + KILLED_S
        killed = False
        while True:
            living = self.look(by_mark=True)
            reap(except_pid=self.main_pid)
            if not living or time.monotonic() > limit:
                return killed, living
            if self.main_pid is not None and not killed:
                # Not reaped yet, so the number still means this group and no stranger's.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.main_pid, signal.SIGKILL)
            killed = True
            for row in living:
                send(row, signal.SIGKILL)
            time.sleep(0.02)


class Channel:
    """JSON lines to and from the gate, and a copy of ours in the folder for a gate that comes back."""

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.open = True
        self.rest = b""

    def say(self, event: str, **fields: Any) -> None:
        line = json.dumps({"event": event, **fields}) + "\n"
        if self.folder is not None and event != "state":
            with contextlib.suppress(OSError), (self.folder / "events").open("a") as file:
                file.write(line)
        with contextlib.suppress(OSError):  # whether the gate is gone is decided by what stdin tells
            os.write(1, line.encode())

    def read(self) -> list[dict[str, Any]]:
        """Return the messages that one read completes; the end of stdin sets `open` to False."""
        try:
            piece = os.read(0, 65536)
        except OSError:
            piece = b""
        self.open = bool(piece)
        *lines, self.rest = (self.rest + piece).split(b"\n")
        messages = []
        for line in filter(None, lines):
            try:
                message = json.loads(line)
            except ValueError:
                message = None
            if isinstance(message, dict):
                messages.append(message)
            else:
                self.say("not-understood", text=line.decode("utf-8", "replace")[:200])
        return messages


class Supervisor:
    def __init__(self, order: dict[str, Any], channel: Channel) -> None:
        self.line = str(order["line"])
        self.environment = {str(k): str(v) for k, v in order["environment"].items()}
        self.log, self.cwd = Path(order["log"]), Path(order["cwd"])
        self.folder = channel.folder = Path(order["folder"])
        self.gate = order.get("gate")
        self.heartbeat_limit_s = order.get("heartbeat_limit_s")
        self.stop_timeout_s = float(order["stop_timeout_s"])
        self.time_limit_s = float(order["time_limit_s"])
        self.children_timeout_s = float(order.get("children_timeout_s", CHILDREN_S))
        self.family = Family(str(order["mark"]))
        self.channel = channel
        self.started_at = self.heard_at = time.monotonic()
        self.next_look = 0.0
        self.touched: float | None = None
        self.terminated = self.exit_said = False
        self.asked: str | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.main: Row | None = None
        self.wake, self.signalled = os.pipe()

    def start(self) -> bool:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
        subreaper = prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGCHLD, signal.SIGTERM):
            # Handlers rather than SIG_IGN: an ignored signal would stay ignored in the server.
            signal.signal(number, self.on_signal)
        os.set_blocking(self.signalled, False)
        signal.set_wakeup_fd(self.signalled, warn_on_full_buffer=False)
        parent = os.getpid()

        def before_exec() -> None:
            # If this program is killed, the kernel ends the server: nobody else would.
            prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(127)

        try:
            log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as fault:
            self.channel.say("refused", why="log-not-writable", detail=str(fault))
            return False
        try:
            process = subprocess.Popen(
                ["/bin/sh", "-c", self.line],
                env=self.environment,
                cwd=self.cwd,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=before_exec,  # noqa: PLW1509 - this program has one thread
            )
        except OSError as fault:
            self.channel.say("refused", why="no-shell", detail=str(fault))
            return False
        finally:
            os.close(log)
        # Kept, because a Popen that is let go of reaps its process. Unreaped, the row is there even if the
        # process has ended already.
        self.process = process
        self.main = read_row(process.pid)
        self.family.main_pid = process.pid
        ticks = self.main.start_ticks if self.main else None
        self.channel.say("started", pid=process.pid, start_ticks=ticks, sid=process.pid, subreaper=subreaper)
        return True

    def on_signal(self, number: int, _frame: object) -> None:
        if number == signal.SIGTERM:
            self.terminated = True

    def exit_of_main(self) -> dict[str, int | None] | None:
        """Return how the main process ended, leaving it unreaped; None while it lives."""
        found = os.waitid(os.P_PID, self.family.main_pid or 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if found is None:
            return None
        by_itself = found.si_code == os.CLD_EXITED
        return {
            "rc": found.si_status if by_itself else None,
            "signal": None if by_itself else found.si_status,
        }

    def tell_exit(self) -> bool:
        """Return whether the main process has ended, and tell the gate the first time that it has."""
        ended = self.exit_of_main()
        if ended is not None and not self.exit_said:
            self.exit_said = True
            self.channel.say("exited", **ended)
        return ended is not None

    def serve(self) -> str:
        """Wait until the server has to stop; return why."""
        selector = selectors.DefaultSelector()
        selector.register(0, selectors.EVENT_READ)
        selector.register(self.wake, selectors.EVENT_READ)
        while True:
            self.tell_exit()
            reason = self.reason_to_stop()
            if reason is not None:
                selector.close()
                return reason
            self.look_now_and_then()
            for key, _ in selector.select(timeout=min(1.0, max(0.05, self.next_look - time.monotonic()))):
                if key.fd == self.wake:
                    os.read(self.wake, 4096)
                    reap(except_pid=self.family.main_pid)
                    continue
                for message in self.channel.read():
                    self.obey(message)
                if not self.channel.open:
                    selector.unregister(0)

    def obey(self, message: dict[str, Any]) -> None:
        self.heard_at = time.monotonic()
        if "stop" in message:
            self.asked = "asked"
        elif "abandon" in message:
            self.asked = "abandoned"
        elif "state" in message:
            size = None
            with contextlib.suppress(OSError):
                size = self.log.stat().st_size
            alive = not self.tell_exit()
            self.channel.say("state", state=message["state"], alive=alive, log_bytes=size)
        elif "heartbeat" not in message:
            self.channel.say("not-understood", text=json.dumps(message)[:200])

    def reason_to_stop(self) -> str | None:
        now = time.monotonic()
        if self.asked:
            return self.asked
        if self.terminated:
            return "supervisor-terminated"
        if now - self.started_at > self.time_limit_s:
            return "time-limit"
        if self.heartbeat_limit_s is None:
            return None if self.channel.open and self.gate_lives() else "gate-gone"
        if not self.channel.open:
            if (self.folder / "stop").exists():
                return "asked"
            self.hear_through_folder(now)
        return "heartbeat-missing" if now - self.heard_at > float(self.heartbeat_limit_s) else None

    def gate_lives(self) -> bool:
        if not self.gate:
            return True
        row = read_row(int(self.gate["pid"]))
        return row is not None and row.start_ticks == self.gate["start_ticks"] and row.state not in "ZX"

    def hear_through_folder(self, now: float) -> None:
        try:
            touched = (self.folder / "heartbeat").stat().st_mtime
        except OSError:
            return
        # Only a change counts: this clock and the file's need not agree.
        if touched != self.touched:
            self.touched = touched
            self.heard_at = now

    def look_now_and_then(self) -> None:
        before = time.monotonic()
        if before >= self.next_look:
            self.family.look(by_mark=False)
            after = time.monotonic()
            self.next_look = after + max(LOOK_S, (after - before) / LOOK_SHARE)

    def whom_to_ask(self) -> Row | None:
        """Return the process for TERM: a shell that did not exec its command would die and not pass it on."""
        if self.main is None:
            return None
        program = Path(os.path.realpath(f"/proc/{self.main.pid}/exe")).name
        children = [row for row in read_rows().values() if row.ppid == self.main.pid]
        return children[0] if program in SHELLS and len(children) == 1 else self.main

    def stop(self, reason: str) -> None:
        started = time.monotonic()
        asked = "none"
        if self.exit_of_main() is None:
            target = self.whom_to_ask()
            if target is not None:
                asked = "term"
                send(target, signal.SIGTERM)
            for row in self.family.look(by_mark=False):
                if row.state in "Tt":  # a stopped process would not see TERM before KILL
                    send(row, signal.SIGCONT)
            patience = self.stop_timeout_s if reason == "asked" else min(self.stop_timeout_s, ABANDONED_S)
            self.wait_until(lambda: self.exit_of_main() is not None, patience)
        if asked == "term" and self.exit_of_main() is not None:
            self.wait_until(lambda: not self.family.look(by_mark=False), self.children_timeout_s)
        killed, survivors = self.family.end()
        self.channel.say(
            "stopped",
            reason=reason,
            asked=asked,
            killed=killed,
            seconds=round(time.monotonic() - started, 3),
            survivors=[row._asdict() for row in survivors],
            **(self.exit_of_main() or {"rc": None, "signal": None}),
        )

    def wait_until(self, done: Any, limit_s: float) -> None:
        limit = time.monotonic() + limit_s
        while not done() and time.monotonic() < limit:
            reap(except_pid=self.family.main_pid)
            time.sleep(0.05)


def main() -> int:
    with contextlib.suppress(PermissionError):  # the gate may have made it a session leader already
        os.setsid()
    channel = Channel()
    messages: list[dict[str, Any]] = []
    while channel.open and not messages:
        messages = channel.read()
    if not messages:
        return 2
    order, *early = messages
    if "sweep" in order:
        killed, survivors = Family(str(order["sweep"])).end()
        channel.say("swept", killed=killed, survivors=[row._asdict() for row in survivors])
        return 0
    try:
        supervisor = Supervisor(order, channel)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        channel.say("refused", why="bad-order", detail=repr(fault))
        return 2
    if not supervisor.start():
        return 2
    for message in early:
        supervisor.obey(message)
    supervisor.stop(supervisor.serve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
