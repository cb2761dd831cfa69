"""What another gate had left behind, told and removed: its lease, folders of its launches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tokgate.hosts.connection import Host
from tokgate.hosts.launch_folders import remove_abandoned
from tokgate.hosts.lease import Lease
from tokgate.records import Finding


def taken_over(held: Lease) -> tuple[Finding, ...]:
    if held.took_over is None:
        return ()
    return (
        Finding(
            severity="note",
            what=f"a stale lease of {held.owner_before or 'an unknown run'} was taken over: {held.took_over}",
            do="find out how the gate before this one ended; its run folder holds what it had measured",
        ),
    )


def swept(hosts: Iterable[Host], held: Lease) -> Iterator[str]:
    """Remove what killed gates have left on the hosts, whose lease is held; yield what was done. Never raises HostFault."""
    owners = held.owner_before.split(", ") if held.owner_before else []  # one of each node
    for host in hosts:
        yield from remove_abandoned(host, owners)
