"""A supervisor on its host: laid out there, given its order, and heard of for the first time."""

from __future__ import annotations

import os
from pathlib import Path

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.ssh import explain
from tokgate.records import StartCause
from tokgate.records.redactor import Redactor
from tokgate.rig.models import Rig

from . import supervisor
from .comeback import FolderComeback
from .events import Event
from .link import Link
from .readiness import GaveUp
from .running import LOG_NAME, Held, supervisor_argv

SUPERVISOR_START_S = 30.0
SSH_FAILED = 255
# dash replaces itself by the last command of its line, bash does not where output is redirected: the process
# that we start, stop and name would then be a shell with the server behind it.
EXEC = "exec /usr/bin/env "


def lay_out(host: Host, there: str) -> GaveUp | None:
    """Bring the supervisor to its folder on the host; return why that cannot be."""
    try:
        source = Path(supervisor.__file__).read_text(encoding="utf-8")
        host.write_file(f"{there}/supervisor.py", source)
        # `python -m` puts its working directory first on the module path: an empty one shadows nothing.
        made = host.run("mkdir -p -m 700 -- %s", f"{there}/cwd")
    except HostFault as fault:
        return GaveUp(StartCause.LOG_NOT_WRITABLE, f"{there} cannot be written: {fault.found}")
    if made.rc != 0:
        return GaveUp(StartCause.LOG_NOT_WRITABLE, f"{there} cannot be made: {made.stderr}")
    return None


def hold(
    host: Host,
    rig: Rig,
    there: str,
    *,
    mark: str,
    redactor: Redactor,
    line: str,
    environment: dict[str, str],
) -> Held | GaveUp:
    """Start the supervisor with the server's shell line and environment, secrets and all."""
    me = supervisor.read_row(os.getpid())
    log = f"{there}/{LOG_NAME}"
    heartbeat_limit_s = None if host.local else host.spec.heartbeat_limit_s
    order = {
        # env would take a program with "=" in its name for a variable.
        "line": line if "=" in rig.server.python else EXEC + line,
        "environment": environment,
        "log": log,
        "cwd": f"{there}/cwd",
        "mark": mark,
        "folder": there,
        "stop_timeout_s": rig.server.stop_timeout_s,
        "time_limit_s": rig.server.time_limit_s,
        "gate": {"pid": me.pid, "start_ticks": me.start_ticks} if me and host.local else None,
        "heartbeat_limit_s": heartbeat_limit_s,
    }
    try:
        link = Link(
            host.popen_command(supervisor_argv(host, there)),
            order,
            heartbeat_limit_s=heartbeat_limit_s,
            comeback=None if host.local else FolderComeback(host, there, log),
        )
    except OSError as error:
        return GaveUp(StartCause.NO_SUPERVISOR, f"it cannot be started: {error}")
    return Held(host, there, mark, link, redactor, rig.server.stop_timeout_s)


def started(held: Held) -> Event | GaveUp:
    """Return what the supervisor says of the process that it started: "pid", "start_ticks", "sid"."""
    answer = held.link.first_answer(timeout_s=SUPERVISOR_START_S)
    if answer is None:
        said = held.link.said()
        why = f"{explain(said)[0]}: {said}" if held.link.returncode() == SSH_FAILED else said
        return GaveUp(StartCause.NO_SUPERVISOR, f"the supervisor did not start: {why or 'no answer'}")
    if answer["event"] == "refused":
        unwritable = answer["why"] == "log-not-writable"
        cause = StartCause.LOG_NOT_WRITABLE if unwritable else StartCause.NO_SUPERVISOR
        return GaveUp(cause, f"{answer['why']}: {answer['detail']}")
    return answer
