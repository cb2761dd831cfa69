"""Two addresses of one machine, told before they are measured as two."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import source

from .nodes import Node

_WHICH = source("lease") + "\ndef main(_):\n    return machine()\n"


def machine_of(host: Host) -> str:
    """Return the kernel that answers under a host's address, and its set of pids: two containers of a machine are two hosts."""
    return str(host.run_python(_WHICH, name="reader of the machine's identity"))


def refuse_one_machine(nodes: Sequence[Node]) -> None:
    """HostFault: two nodes are one machine, whose GPUs would be counted and leased twice."""
    seen: dict[str, Node] = {}
    for node in nodes if len(nodes) > 1 else ():
        first = seen.setdefault(machine_of(node.host), node)
        if first is not node:
            raise HostFault(
                tried="see that each node of the server is a machine of its own",
                found=f"{node.name} is the same machine as {first.name}",
                do="give [[host.nodes]] the address of another machine; look at aliases in ssh's configuration",
            )
