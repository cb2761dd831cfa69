"""Takes, renews, releases and reads the lease of this machine: one gate at a time.

The lease is a JSON file; a lock held for the moment makes each operation one step, so that of two gates
that find the same stale lease exactly one takes it over.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import stat
import sys
import time
from pathlib import Path
from typing import Any

LOCK_LIMIT_S = 5.0
LOOK_S = 1.0  # of who looks after a lease


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"folder", "operation": take|beat|release|read, ...} -> {"held": by whom or null, ...}.

    "asker": the machine that asks. Where it is the owner's own, silence alone proves nothing: "ask" in the answer has it look for
    the owner there, and "gone": [pid, start_ticks] tells that it did. {"unusable": why} where the folder cannot be made or written.
    """
    try:
        return operate(argument, Path(argument["folder"]))
    except TimeoutError:
        raise
    except OSError as error:
        return {"unusable": str(error)}


def operate(argument: dict[str, Any], folder: Path) -> dict[str, Any]:
    if argument["operation"] == "read" and not folder.is_dir():
        return {"held": None}
    prepare(folder)
    with Lock(folder / "lock"):
        lease = load(folder / "lease.json")
        held = lease is not None and why_stale(lease) is None
        if lease is not None and not held and asker_can_tell(lease, argument):
            return {"held": shown(lease), "ask": True}
        if argument["operation"] == "take":
            return take(folder, argument["lease"], lease)
        if argument["operation"] == "read":
            return {"held": shown(lease) if lease is not None and held else None}
        mine = lease is not None and lease.get("token") == argument["token"]
        if lease is not None and mine and argument["operation"] == "beat":
            save(folder, {**lease, **stamp()})
        if mine and argument["operation"] == "release":
            (folder / "lease.json").unlink()
        return {"mine": mine, "held": shown(lease) if lease is not None and held and not mine else None}


def prepare(folder: Path) -> None:
    # Any user of the machine must be able to take the lease, and to take over a stale one; and, holding it, to put the
    # folders of launches beside those of others.
    for path, mode in ((folder.parent, 0o1777), (folder, 0o777), (folder.parent / "launches", 0o1777)):
        if not path.is_dir():
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(mode)


class Lock:
    def __init__(self, path: Path) -> None:
        try:
            self.handle = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            # Without the explicit mode another user could not open it. Two creators are as good as one.
            self.handle = os.open(path, os.O_RDONLY | os.O_CREAT, 0o666)

    def __enter__(self) -> None:
        deadline = time.monotonic() + LOCK_LIMIT_S
        while not self.taken():
            if time.monotonic() > deadline:
                raise TimeoutError("somebody keeps the lease's lock")
            time.sleep(0.02)

    def taken(self) -> bool:
        try:
            fcntl.flock(self.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def __exit__(self, *_: object) -> None:
        os.close(self.handle)


def take(folder: Path, wanted: dict[str, Any], lease: dict[str, Any] | None) -> dict[str, Any]:
    sweep(folder)
    took_over = None
    if lease is not None:
        took_over = why_stale(lease)
        if took_over is None:
            return {"held": shown(lease)}
    save(folder, {**wanted, **stamp()})
    return {"held": None, "took_over": took_over, "from": shown(lease) if lease else None}


def stamp() -> dict[str, Any]:
    # The monotonic clock is this machine's own, for every process alike, and nobody sets it.
    return {"beat": time.monotonic(), "host_boot": boot_id()}


def why_stale(lease: dict[str, Any]) -> str | None:
    """Return why nobody holds this lease any more, or None if somebody does."""
    if "unreadable" in lease:
        return str(lease["unreadable"])
    if lease["machine"] == machine():
        if start_of(lease["pid"]) == lease["start_ticks"]:
            return None
        return f"its owner, pid {lease['pid']} on this machine, is gone"
    age = age_of(lease)
    if age <= lease["limit_s"]:
        return None
    # Its supervisors end its servers at the same limit: as long as one is left here, the gate is not proven dead.
    if marked(lease.get("owner")):
        return None
    return (
        f"its owner on {lease['where']} has not been heard of for {age:.0f} s (limit {lease['limit_s']:.0f} s), and nothing that it "
        f"has started runs here; whether its pid {lease['pid']} lives there cannot be seen from here"
    )


def asker_can_tell(lease: dict[str, Any], argument: dict[str, Any]) -> bool:
    """Say whether who asks runs where the owner of a silent lease does, and has not yet looked for it there."""
    if "unreadable" in lease or argument["operation"] not in ("take", "read"):
        return False
    elsewhere = lease["machine"] not in (machine(), None)
    looked = argument.get("gone") == [lease["pid"], lease["start_ticks"]]
    return elsewhere and lease["machine"] == argument.get("asker") and not looked


def age_of(lease: dict[str, Any]) -> float:
    """Return the seconds since the last heartbeat; after a reboot, at least those since then."""
    now = time.monotonic()
    return now - lease["beat"] if lease["host_boot"] == boot_id() else now


def marked(owner: Any) -> list[int]:
    """Return the processes of this machine that a run has started, as far as they let themselves be seen."""
    start = f"TOKGATE_MARK={owner}/".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                variables = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if any(v.startswith(start) for v in variables) and start_of(int(entry.name)) is not None:
                found.append(int(entry.name))
    return found


def undertake(argument: dict[str, Any]) -> None:
    """Stay until the gate has gone, and take its lease away when it is proven dead: {"folder", "token", "most_s"}.

    The end of standard input proves nothing, for a dropped connection is a fault of the network; nor does it always come: of a
    network that is down nobody is told. So the lease itself is looked at, a small file every second. Whatever comes on standard input
    says that the gate lives, even where its own heartbeats do not come (vouching.py).
    """
    if os.getpid() != os.getsid(0):
        os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    folder = Path(argument["folder"])
    print("here", flush=True)
    deadline: float | None = None
    heard = b""
    while deadline is None or time.monotonic() < deadline:
        with Lock(folder / "lock"):
            lease = load(folder / "lease.json")
            if lease is None or lease.get("token") != argument["token"]:
                return
            if heard:
                lease = {**lease, **stamp()}
                save(folder, lease)
            if why_stale(lease) is not None and not marked(lease.get("owner")):
                (folder / "lease.json").unlink()
                sweep(folder)
                return
        heard = b""
        if deadline is not None:
            time.sleep(LOOK_S)
        elif select.select([0], [], [], LOOK_S)[0]:
            heard = os.read(0, 4096)
            if not heard:
                deadline = time.monotonic() + argument["most_s"]


def undertake_what_stdin_says() -> None:
    undertake(json.loads(sys.stdin.buffer.readline()))


def shown(lease: dict[str, Any]) -> dict[str, Any]:
    visible = {k: v for k, v in lease.items() if k not in ("token", "beat", "host_boot")}
    if lease.get("machine") == machine():
        visible["state"] = state_of(lease["pid"])
    if "beat" in lease:
        visible["heard_s_ago"] = age_of(lease)
        visible["still_here"] = (
            marked(lease.get("owner")) if visible["heard_s_ago"] > lease["limit_s"] else []
        )
    return visible


def load(path: Path) -> dict[str, Any] | None:
    try:
        raw = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    try:
        lease: dict[str, Any] = json.loads(raw)
        age_of(lease)
        lease["machine"], lease["pid"], lease["start_ticks"], lease["limit_s"], lease["where"]
    except (ValueError, TypeError, KeyError) as error:
        return {"unreadable": f"its file made no sense: {error!r}"}
    return lease


def save(folder: Path, lease: dict[str, Any]) -> None:
    new = folder / f"lease.json.{os.getpid()}"
    try:
        new.write_text(json.dumps(lease), encoding="utf-8")
        new.chmod(0o666)
        new.replace(folder / "lease.json")
    except OSError:  # a full disk
        with contextlib.suppress(OSError):
            new.unlink()
        raise


def sweep(folder: Path) -> None:
    """Remove what writers have left that were killed, or met a full disk: with the lock held nobody writes one."""
    for path in folder.glob("lease.json.*"):
        with contextlib.suppress(OSError):
            if path.suffix[1:].isdecimal() and stat.S_ISREG(path.lstat().st_mode):
                path.unlink()


def machine() -> str:
    """Name the kernel that runs here and the set of pids that it shows us: a pid means nothing elsewhere."""
    return f"{boot_id()} {Path('/proc/self/ns/pid').readlink()}"


def boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_of(pid: int) -> int | None:
    fields = stat_of(pid)
    # A zombie holds nothing any more.
    return None if not fields or fields[0] == b"Z" else int(fields[19])


def state_of(pid: int) -> str | None:
    """Return the letter of a process's state, "T" of a stopped one; None: it is gone."""
    fields = stat_of(pid)
    return fields[0].decode(errors="replace") if fields else None


def stat_of(pid: int) -> list[bytes]:
    """Return the fields of /proc/PID/stat from the state on; [] where there is no such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2].split()
    except OSError:
        return []
