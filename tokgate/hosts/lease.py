"""One gate at a time on a host: two servers side by side would measure each other."""

from __future__ import annotations

import contextlib
import datetime as dt
import getpass
import os
import platform
import secrets
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tokgate.errors import HostFault, LeaseFault
from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import lease as script
from tokgate.hosts.scripts import source

# Heartbeats in one limit: that many may be lost but one.
BEATS = 4


@dataclass
class Lease:
    """A lease that is held. `lost` says why it no longer is, once that happens."""

    owner: str
    took_over: str | None  # why the one before was stale, None: there was none
    owner_before: str | None = None  # of that one, where its file told
    token: str = ""  # only who knows it may renew or release
    _lost: list[str] = field(default_factory=list)

    @property
    def lost(self) -> str | None:
        return self._lost[0] if self._lost else None

    def check(self) -> None:
        """LeaseFault: somebody else has it by now, what was measured since is worthless."""
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


@contextlib.contextmanager
def lease(host: Host, owner: str) -> Iterator[Lease]:
    """Hold the host while the block runs. `owner` is the run id, as in the marks of its processes.

    A stale lease is taken over: its owner is a process of the host's own machine and gone, or it runs
    elsewhere and has not been heard of for the rig's host.heartbeat_limit_s.
    LeaseFault: somebody holds it. HostFault: the host cannot be asked.
    """
    token = secrets.token_hex(16)
    answer = _operate(host, "take", lease=_claim(host, owner, token))
    if answer["held"] is not None:
        raise _taken(host, answer["held"])
    before = answer["from"] or {}
    held = Lease(owner=owner, took_over=answer["took_over"], owner_before=before.get("owner"), token=token)
    done = threading.Event()
    heart = threading.Thread(
        target=_beat, args=(host, token, held, done), name=f"lease of {host.name}", daemon=True
    )
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
    held = _operate(host, "read")["held"]
    if held is None:
        return None
    mine = (script.machine(), os.getpid()) == (held["machine"], held["pid"])
    return LeaseHolder(
        owner=held["owner"],
        where=held["where"],
        pid=held["pid"],
        since=held["since"],
        heard_s_ago=held["heard_s_ago"],
        ours=mine,
    )


def _operate(host: Host, operation: str, **more: Any) -> dict[str, Any]:
    folder = f"{host.spec.work_dir}/lease"
    argument = {"folder": folder, "operation": operation, **more}
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


def _beat(host: Host, token: str, held: Lease, done: threading.Event) -> None:
    while not done.wait(host.spec.heartbeat_limit_s / BEATS):
        # A host out of reach for a while may still be ours when it answers again.
        with contextlib.suppress(HostFault):
            answer = _operate(host, "beat", token=token)
            if not answer["mine"] and held.lost is None:
                by = answer["held"]
                who = f"{by['owner']} ({by['where']}) has taken it over" if by else "its file is gone"
                held._lost.append(f"the lease on {host.name} is lost: {who}")  # noqa: SLF001


def _still_here(pids: Sequence[int]) -> str:
    """Return why a gate that nobody hears of is not taken for dead."""
    if not pids:
        return ""
    named = ", ".join(map(str, pids[:4])) + (f" and {len(pids) - 4} more" if len(pids) > 4 else "")
    return f"; what it has started still runs there: pid {named}"


def _taken(host: Host, held: dict[str, Any]) -> LeaseFault:
    return LeaseFault(
        tried=f"to lease {host.name}",
        found=(
            f"another gate is at work on {host.name}: {held['owner']} has held it since {held['since']}"
            f" (pid {held['pid']} of {held['where']}, heard of {held['heard_s_ago']:.0f} s ago)"
            + _still_here(held.get("still_here", ()))
        ),
        do=(
            "wait until it is done, which --wait-for-lease SECONDS does; should it end without giving the lease back, "
            "that is taken over by itself"
            f" (from elsewhere than the host: after {held['limit_s']:.0f} s)"
        ),
    )
