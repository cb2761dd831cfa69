"""Folders of launches whose gate was killed before it could fetch their logs: removed by the next gate, else named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import source
from tokgate.records import Finding

# A gate that is still there writes or fetches much sooner.
_QUIET_S = 600.0
_NAMED = 5


def remove_abandoned(host: Host, owners: Sequence[str] = ()) -> tuple[str, ...]:
    """Remove what killed gates of this user have left; the lease must be held. Return what was done, in words. Never raises HostFault.

    `owners`: runs whose lease was taken over, so that they are proven dead. What others have left waits until it has been quiet
    for long: a gate that was out of reach may come back for its log, though not for its lease.
    """
    removed = _asked(host, owners=owners, remove=True)["removed"]
    if not removed:
        return ()
    return (f"removed the folders that killed gates had left in {_folder(host)}: {_told(removed)}",)


def abandoned_launches(host: Host) -> tuple[Finding, ...]:
    """Return a note if any are left: other users' gates have them, or nobody held the lease since."""
    left = _asked(host, owners=(), remove=False)["left"]
    if not left:
        return ()
    quiet_h = min(row["quiet_s"] for row in left) / 3600
    return (
        Finding(
            severity="note",
            what=f"{len(left)} launches left their folder in {_folder(host)} when their gate was killed"
            f" ({_size(left)}, untouched for {quiet_h:.1f} h or more): {_names(left)}",
            do="read the server.log in them if it is of interest; the next gate of the user that they belong to removes them",
        ),
    )


def _asked(host: Host, *, owners: Sequence[str], remove: bool) -> dict[str, list[dict[str, Any]]]:
    quiet_s = max(_QUIET_S, 2 * host.spec.heartbeat_limit_s)
    argument = {"folder": _folder(host), "quiet_s": quiet_s, "owners": list(owners), "remove": remove}
    try:
        found: dict[str, list[dict[str, Any]]] = host.run_python(
            source("launch_folders"), argument, name="launch folder reader"
        )
    except HostFault:
        return {"removed": [], "left": []}
    return found


def _folder(host: Host) -> str:
    return f"{host.spec.work_dir.rstrip('/')}/launches"


def _told(rows: Sequence[dict[str, Any]]) -> str:
    return f"{_names(rows)} ({_size(rows)})"


def _names(rows: Sequence[dict[str, Any]]) -> str:
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    return ", ".join(row["name"] for row in rows[:_NAMED]) + more


def _size(rows: Sequence[dict[str, Any]]) -> str:
    return f"{sum(row['bytes'] for row in rows) / 1e6:.1f} MB"
