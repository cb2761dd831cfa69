"""Where the nodes of one server meet: an address of node 0 that all others reach, and a port that is free there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import source

# With data parallelism of attention SGLang takes the ports behind it as well: six, and one for each data-parallel rank
# where its Rust server runs (0.5.23, server_args.py, PortArgs.init_new).
BLOCK = 16
LIMIT_S = 3.0  # of one attempt: nodes of one server are no further than milliseconds apart


def meeting_point(first: Host, others: Sequence[Host], written: str | None) -> str:
    """Return HOST:PORT for --dist-init-addr. `written`: what the rig says, HOST or HOST:PORT.

    An address that is written is taken as it is. HostFault: none is reached by every node, or no port is free.
    """
    name, port = _parted(written)
    told = _ask(first, {"operation": "free", "port": port, "block": BLOCK})["port"]
    if told is None:
        raise HostFault(
            tried=f"to find a port on {first.name} for the nodes to meet at",
            found=f"port {port} is taken" if port is not None else f"no {BLOCK} free ports in a row",
            do="end what has it, or leave the port out of server.dist_init_addr: then a free one is taken for each start",
        )
    return f"{name or _address(first, others, told)}:{told}"


def _address(first: Host, others: Sequence[Host], port: int) -> str:
    own: list[str] = _ask(first, {"operation": "addresses"})
    theirs = {address for host in others for address in _ask(host, {"operation": "addresses"})}
    # A bridge of containers has one and the same address on every machine.
    unique = [address for address in own if address not in theirs]
    reasons: list[str] = []
    for host in others:
        asked = {"operation": "reach", "addresses": unique, "port": port, "limit_s": LIMIT_S}
        answers: dict[str, str | None] = (
            _ask(host, asked, timeout_s=LIMIT_S * (len(unique) + 1)) if unique else {}
        )
        reasons += [
            f"{address} from {host.name}: {why}" for address, why in answers.items() if why is not None
        ]
        unique = [address for address in unique if answers.get(address) is None]
    if not unique:
        shared = [f"{address} is an address of another node too" for address in own if address in theirs]
        raise HostFault(
            tried=f"to find an address of {first.name} that every further node reaches",
            found="; ".join([*reasons, *shared]) or f"{first.name} has no address but its loopback's",
            do="join the nodes' networks, or write the address into the rig: server.dist_init_addr",
        )
    return unique[0]


def _parted(written: str | None) -> tuple[str | None, int | None]:
    if written is None:
        return None, None
    name, colon, port = written.rpartition(":")
    if colon and port.isdecimal() and not name.endswith(":"):
        return name, int(port)
    return written, None


def _ask(host: Host, argument: dict[str, Any], timeout_s: float | None = None) -> Any:
    limit_s = host.spec.command_timeout_s + (timeout_s or 0.0)
    return host.run_python(
        source("rendezvous"), argument, timeout_s=limit_s, name="search for a meeting point"
    )
