"""One gate at a time on a host: two servers side by side would measure each other."""

from __future__ import annotations

import contextlib
import datetime as dt
import getpass
import math
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokgate.errors import HostFault, LeaseFault
from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import lease as script
from tokgate.hosts.scripts import source

# Heartbeats in one limit: that many may be lost but one.
BEATS = 4
_STOPPED = ("T", "t")  # proc(5): by a signal, by a debugger


@dataclass
class Lease:
    """A lease that is held. `lost` says why it no longer is, once that happens."""

    owner: str
    took_over: str | None  # why the one before was stale, None: there was none
    owner_before: str | None = None  # of that one, where its file told
    token: str = ""  # only who knows it may renew or release
    renew: Callable[[], None] = field(
        default=lambda: None, repr=False
    )  # asks the host; never raises HostFault
    limit_s: float = math.inf
    heard: float = field(default_factory=time.monotonic)  # when it was last renewed
    _lost: list[str] = field(default_factory=list)

    @property
    def lost(self) -> str | None:
        return self._lost[0] if self._lost else None

    def check(self) -> None:
        """LeaseFault: somebody else has it by now, what was measured since is worthless.

        A gate that was stopped or suspended for longer than its lease lives asks the host first: its own heartbeat may not have
        come round to it yet.
        """
        if self.lost is None and time.monotonic() - self.heard > self.limit_s:
            self.renew()
        if self.lost is not None:
            raise LeaseFault(
                tried="to go on measuring",
                found=self.lost,
                do="see why this gate was not heard of for so long (network, suspended machine), then start again",
            )


@dataclass(frozen=True)
class LeaseHolder:
    """Who holds a host. `owner` is a run id; `ours`: it is this very process."""

    owner: str
    where: str
    pid: int
    since: str
    heard_s_ago: float
    ours: bool
    stopped: bool = False  # SIGSTOP, Ctrl-Z: alive, and doing nothing


@contextlib.contextmanager
def lease(host: Host, owner: str) -> Iterator[Lease]:
    """Hold the host while the block runs. `owner` is the run id, as in the marks of its processes.

    A stale lease is taken over: its owner is a process of the host's own machine, or of this one, and gone; or it runs elsewhere
    and has not been heard of for the rig's host.heartbeat_limit_s, and nothing that it has started runs on the host.
    LeaseFault: somebody holds it. HostFault: the host cannot be asked.
    """
    token = secrets.token_hex(16)
    claim = _claim(host, owner, token)
    answer = _operate(host, "take", lease=claim)
    if answer.get("ask") and not _lives_here(answer["held"]):
        answer = _operate(host, "take", lease=claim, gone=_process_of(answer["held"]))
    if answer["held"] is not None:
        raise _taken(host, answer["held"])
    before = answer["from"] or {}
    held = Lease(
        owner=owner,
        took_over=answer["took_over"],
        owner_before=before.get("owner"),
        token=token,
        limit_s=host.spec.heartbeat_limit_s,
    )
    held.renew = lambda: _renew(host, held)
    done = threading.Event()
    heart = threading.Thread(target=_beat, args=(host, held, done), name=f"lease of {host.name}", daemon=True)
    heart.start()
    try:
        yield held
    finally:
        done.set()
        heart.join()
        # The host may be what has just failed; then the lease becomes stale by itself.
        with contextlib.suppress(HostFault):
            _operate(host, "release", token=token)


def holder_of(host: Host) -> LeaseHolder | None:
    """Return who holds the host now; None: nobody, or only a stale lease lies there."""
    answer = _operate(host, "read")
    held = answer["held"]
    if held is None or (answer.get("ask") and not _lives_here(held)):
        return None
    mine = (script.machine(), os.getpid()) == (held["machine"], held["pid"])
    return LeaseHolder(
        owner=held["owner"],
        where=held["where"],
        pid=held["pid"],
        since=held["since"],
        heard_s_ago=held["heard_s_ago"],
        ours=mine,
        stopped=_stopped(held),
    )


def _operate(host: Host, operation: str, **more: Any) -> dict[str, Any]:
    folder = f"{host.spec.work_dir}/lease"
    argument = {"folder": folder, "operation": operation, "asker": script.machine(), **more}
    answer: dict[str, Any] = host.run_python(source("lease"), argument, name="lease keeper")
    if "unusable" in answer:
        raise HostFault(
            tried=f"to {operation} the lease in {folder} on {host.name}",
            found=f"that folder cannot be used: {answer['unusable']}",
            do="make host.work_dir in the rig a folder that the login user may write on the host",
        )
    return answer


def _claim(host: Host, owner: str, token: str) -> dict[str, Any]:
    return {
        "owner": owner,
        "token": token,
        "machine": script.machine(),
        "pid": os.getpid(),
        "start_ticks": script.start_of(os.getpid()),
        "where": f"{getpass.getuser()}@{platform.node()}",
        "since": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "limit_s": host.spec.heartbeat_limit_s,
    }


def _beat(host: Host, held: Lease, done: threading.Event) -> None:
    while not done.wait(host.spec.heartbeat_limit_s / BEATS):
        _renew(host, held)


def _renew(host: Host, held: Lease) -> None:
    # A host out of reach for a while may still be ours when it answers again.
    with contextlib.suppress(HostFault):
        answer = _operate(host, "beat", token=held.token)
        held.heard = time.monotonic()
        if not answer["mine"] and held.lost is None:
            by = answer["held"]
            who = f"{by['owner']} ({by['where']}) has taken it over" if by else "its file is gone"
            held._lost.append(f"the lease on {host.name} is lost: {who}")  # noqa: SLF001


def _process_of(held: dict[str, Any]) -> list[int]:
    return [held["pid"], held["start_ticks"]]


def _lives_here(held: dict[str, Any]) -> bool:
    """Say whether the owner, which ran on this machine, is still a process of it."""
    return bool(script.start_of(held["pid"]) == held["start_ticks"])


def _stopped(held: dict[str, Any]) -> bool:
    """Say whether the owner is known to be stopped: on the host itself, or on this machine."""
    here = held["machine"] == script.machine() and _lives_here(held)
    return (script.state_of(held["pid"]) if here else held.get("state")) in _STOPPED


def _still_here(pids: Sequence[int]) -> str:
    """Return why a gate that nobody hears of is not taken for dead."""
    if not pids:
        return ""
    named = ", ".join(map(str, pids[:4])) + (f" and {len(pids) - 4} more" if len(pids) > 4 else "")
    return f"; what it has started still runs there: pid {named}"


def _taken(host: Host, held: dict[str, Any]) -> LeaseFault:
    stopped = _stopped(held)
    known = (
        f"; it is stopped, and lives: pid {held['pid']}"
        if stopped
        else _still_here(held.get("still_here", ()))
    )
    return LeaseFault(
        tried=f"to lease {host.name}",
        found=(
            f"another gate is at work on {host.name}: {held['owner']} has held it since {held['since']}"
            f" (pid {held['pid']} of {held['where']}, heard of {held['heard_s_ago']:.0f} s ago){known}"
        ),
        do=(
            f"let it go on (kill -CONT {held['pid']} on {held['where']}) or end it there: as long as its process lives the host is its own"
            if stopped
            else "wait until it is done, which --wait-for-lease SECONDS does; should it end without giving the lease back, "
            "that is taken over by itself"
            f" (from elsewhere than the host: after {held['limit_s']:.0f} s)"
        ),
    )
