"""What differs between two sides, compiled before any server is started: a slip of the pen costs no GPU time."""

from __future__ import annotations

from typing import Any

from tokgate.hosts.connection import Host
from tokgate.hosts.fingerprint import with_servers_python
from tokgate.records import StartCause, StartFailure
from tokgate.records.side import SideState
from tokgate.rig.models import Rig

_MOST = 6  # files that are named


def uncompiled(
    host: Host, rig: Rig, base: SideState, head: SideState, *, prefix: str
) -> dict[str, StartFailure]:
    """Return which side has sources that the server's Python does not take, as its servers would fail. HostFault: it cannot be asked.

    A file that neither side has right is left to the servers: many such files, of another Python say, nobody imports.
    """
    answer = with_servers_python(
        host, rig, "side_compile", {"roots": {one.name: one.root for one in (base, head)}}
    )
    faults: dict[str, list[dict[str, Any]]] = answer["faults"]
    both = set.intersection(*({fault["file"] for fault in found} for found in faults.values()))
    own = {side: [fault for fault in found if fault["file"] not in both] for side, found in faults.items()}
    roots = {one.name: one.root for one in (base, head)}
    return {side: _failure(found, roots[side], prefix) for side, found in own.items() if found}


def _failure(faults: list[dict[str, Any]], root: str, prefix: str) -> StartFailure:
    first, more = faults[0], len(faults) - 1
    place = f"{prefix}{first['file']}, line {first['line']}"
    evidence = []
    for fault in faults[:_MOST]:
        # As an interpreter would say it, so that it is read as a traceback is.
        evidence.append(f'File "{root}/{fault["file"]}", line {fault["line"]}')
        evidence += [fault["text"]] if fault["text"] else []
        evidence.append(f"SyntaxError: {fault['error']}")
    return StartFailure(
        cause=StartCause.DOES_NOT_COMPILE,
        headline=f"SyntaxError: {first['error']} ({place})"
        + (f", and {more} more files" if more > 0 else ""),
        do=f"mend {place}: no server of that side was started",
        evidence=tuple(evidence),
    )
