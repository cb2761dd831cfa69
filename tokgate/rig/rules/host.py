"""The host's address is one that the gate can go to, and holds no password."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tokgate.rig.models import Rig
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import spell

_WANTED = "local:// for this machine, or ssh://user@host:port, where user and port may be left out"
# A host of an ssh_config may have any name; an IPv6 address stands in brackets; testinfra takes ?timeout=1.
_SSH = re.compile(
    r"ssh://(?:[^\s@:/?]+@)?(?:[^\s@:/?\[\]-][^\s@:/?\[\]]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?:\?\S*)?"
)


def broken_host(rig: Rig) -> Iterator[Problem]:
    problem = host_problem(rig.host.testinfra)
    if problem is not None:
        yield problem


def host_problem(address: str) -> Problem | None:
    """Say what is wrong with the address of a host; None: nothing."""
    path = ("host", "testinfra")
    user, at, _ = address.rpartition("@")
    if at and ":" in user.rpartition("://")[2]:
        # The value is not repeated: it is a secret.
        return Problem(
            path,
            "an address with a password in it",
            "a key instead: host.ssh_identity, an ssh_config, or the agent",
        )
    if address == "local://":
        return None
    read = _SSH.fullmatch(address)
    if read is None or not 0 < int(read["port"] or 22) < 65536:
        meant = f"; ssh://{address} perhaps" if _SSH.fullmatch(f"ssh://{address}") else ""
        return Problem(path, spell(address), _WANTED + meant)
    return None
