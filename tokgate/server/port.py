"""The port that a server gets on its host, and who listens there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokgate.hosts.connection import Host
from tokgate.records import StartCause
from tokgate.rig.models import ArmSpec, Rig

from . import host_probe
from .readiness import GaveUp

DEFAULT_PORT = 30000  # SGLang's own, where a rig with port = "as-written" writes none
Listeners = list[dict[str, Any]]


def written_port(rig: Rig) -> int | None:
    """Return the port that must be free beforehand; None where every start gets a new one."""
    port = rig.server.args.get("port", DEFAULT_PORT)
    return port if rig.server.port == "as-written" and isinstance(port, int) else None


def port_and_environment(host: Host, rig: Rig, arm: ArmSpec) -> dict[str, Any] | GaveUp:
    """Return the host's `environment` and the `port` to use: a free one, or the rig's, which must be free."""
    server = rig.server
    written = {**server.args, **arm.args}.get("port", DEFAULT_PORT)
    found = _asked(
        host,
        {"names": server.pass_environment, "port": None if server.port == "free" else int(str(written))},
    )
    if found["listeners"]:
        return GaveUp(StartCause.PORT_TAKEN, f"port {found['port']} is taken: {who(found['listeners'])}")
    return found


def listeners_on(host: Host, port: int) -> Listeners:
    """Return who listens on a port of the host, as host_probe.py tells of each. HostFault: it cannot be asked."""
    found: Listeners = _asked(host, {"port": port})["listeners"]
    return found


def who(listeners: Listeners) -> str:
    if not listeners:
        return "no process on the host listens there"
    words = []
    for owner in listeners:
        if owner["pid"] is None:
            words.append("a process of another user")
        else:
            of_a_gate = f", started by the gate as {owner['mark']}" if owner["mark"] else ""
            words.append(f"{owner['comm']} (pid {owner['pid']}{of_a_gate})")
    return ", ".join(words)


def _asked(host: Host, argument: dict[str, Any]) -> dict[str, Any]:
    source = Path(host_probe.__file__).read_text(encoding="utf-8")
    answer: dict[str, Any] = host.run_python(source, argument, name="launch probe")
    return answer
