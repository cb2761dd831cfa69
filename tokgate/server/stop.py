"""Stop a server, and prove that nothing of it is left."""

from __future__ import annotations

import json
import time
from typing import Any

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.exchange import exchange
from tokgate.hosts.processes import processes
from tokgate.records import ProcessSeen, StopRecord

from . import supervisor
from .events import Event, Exit
from .link import Link

# On top of the rig's stop_timeout_s: what the supervisor itself may take for children and KILL, and the way.
MARGIN_S = supervisor.CHILDREN_S + supervisor.KILLED_S + 15.0

# The supervisor's reasons other than "asked".
WHY_STOPPED = {
    "gate-gone": "the supervisor had stopped it because it thought the gate was gone",
    "heartbeat-missing": "the supervisor had stopped it because it heard nothing from the gate",
    "time-limit": "the supervisor had stopped it at server.time_limit_s",
    "supervisor-terminated": "somebody had ended the supervisor, which stopped it",
}


def stop_server(
    link: Link, host: Host, *, mark: str, stop_timeout_s: float, supervisor_argv: list[str]
) -> StopRecord:
    """Stop it through its supervisor; where that is gone, end what carries the mark by a new one.

    Survivors are looked for independently of what the supervisor reports. Never raises for a host that
    does not answer: the record's note says so.
    """
    began = time.monotonic()
    ended_alone = link.ended_alone
    report = link.stop(timeout_s=stop_timeout_s + MARGIN_S)
    notes = []
    if ended_alone is not None:
        notes.append(ended_before(ended_alone))
    if report is None:
        notes.append("its supervisor was gone; what carried the mark was ended by a new one")
        report = _sweep(host, mark, supervisor_argv)
    elif report["reason"] in WHY_STOPPED:
        notes.append(WHY_STOPPED[report["reason"]])
    survivors, trouble = _left(host, mark, report or {})
    if report is None:
        notes.append("that failed as well")
    return StopRecord(
        asked=(report or {}).get("asked", "none"),
        killed=bool((report or {}).get("killed")),
        seconds=round((report or {}).get("seconds") or time.monotonic() - began, 3),
        survivors=survivors,
        note="; ".join([*notes, *trouble]) or None,
    )


def ended_before(how: Exit) -> str:
    return f"before that, the server {how}"


def _sweep(host: Host, mark: str, supervisor_argv: list[str]) -> Event | None:
    order = json.dumps({"sweep": mark}).encode() + b"\n"
    try:
        _, out, _ = exchange(host.popen_command(supervisor_argv), order, supervisor.KILLED_S + MARGIN_S)
        answers = [json.loads(line) for line in out.splitlines() if line.startswith(b"{")]
    except (OSError, ValueError):
        return None
    return next((a for a in answers if a.get("event") == "swept"), None)


def _left(host: Host, mark: str, report: dict[str, Any]) -> tuple[tuple[ProcessSeen, ...], list[str]]:
    reported = {(row["pid"], row["start_ticks"]) for row in report.get("survivors", ())}
    try:
        table = processes(host)
    except HostFault as fault:
        return (), [f"whether anything is left could not be seen: {fault.found}"]
    left = tuple(p for p in table if p.mark == mark or (p.pid, p.start_ticks) in reported)
    return left, []
