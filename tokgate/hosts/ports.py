"""Whether the port that a server is to get is free on its host, and who has it if not."""

from __future__ import annotations

from collections.abc import Iterable

from tokgate.hosts.connection import Host
from tokgate.hosts.gpu_judgement import one_line
from tokgate.hosts.scripts import source
from tokgate.records import Finding, ProcessSeen


def look_at_port(host: Host, port: int, table: Iterable[ProcessSeen]) -> tuple[Finding, ...]:
    """Try the port on the host itself; `table` names its holder. HostFault: the host cannot be asked."""
    answer = host.run_python(source("port"), {"port": port}, name="port reader")
    if answer["free"]:
        return ()
    if answer["free"] is None:
        return (
            Finding(
                severity="unknown",
                what=f"port {port} cannot be tried: {answer['why']}",
                do='choose a port above 1023, or server.port = "free" in the rig',
            ),
        )
    by_pid = {p.pid: p for p in table}
    named = ", ".join(_who(pid, by_pid.get(pid)) for pid in answer["pids"])
    return (
        Finding(
            severity="unclean",
            what=f"port {port} is taken by {named or 'a process of another user or namespace'}",
            do="end that process by hand if it may be ended, or choose another port",
        ),
    )


def _who(pid: int, process: ProcessSeen | None) -> str:
    if process is None:
        return f"pid {pid}"
    return f"pid {pid} of {process.user or 'an unknown user'} ({one_line(process.cmdline or process.comm)})"
