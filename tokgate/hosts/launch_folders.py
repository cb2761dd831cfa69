"""Folders of launches whose gate was killed before it could fetch their logs. Named, never removed."""

from __future__ import annotations

from typing import Any

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import source
from tokgate.records import Finding

# A gate that is still there writes or fetches much sooner.
_QUIET_S = 600.0
_NAMED = 5


def abandoned_launches(host: Host) -> tuple[Finding, ...]:
    """Return a note if there are any: the log in such a folder is the only copy of it.

    Whether a gate elsewhere still means to fetch it cannot be proven from here, so nothing is removed.
    """
    folder = f"{host.spec.work_dir.rstrip('/')}/launches"
    argument = {"folder": folder, "quiet_s": max(_QUIET_S, 2 * host.spec.heartbeat_limit_s)}
    try:
        found: list[dict[str, Any]] = host.run_python(
            source("launch_folders"), argument, name="launch folder reader"
        )
    except HostFault:
        return ()
    if not found:
        return ()
    names = [row["name"] for row in found]
    shown = ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")
    size, quiet_h = sum(row["bytes"] for row in found) / 1e6, min(row["quiet_s"] for row in found) / 3600
    return (
        Finding(
            severity="note",
            what=f"{len(found)} launches left their folder in {folder} when their gate was killed"
            f" ({size:.1f} MB, untouched for {quiet_h:.1f} h or more): {shown}",
            do="read the server.log in them if it is of interest, then remove them by hand",
        ),
    )
