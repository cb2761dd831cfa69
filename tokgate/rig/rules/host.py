"""The host's address is one that the gate can go to, and holds no password."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tokgate.rig.models import Rig
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import KeyPath, spell

_WANTED = "local:// for this machine, or ssh://user@host:port, where user and port may be left out"
# A host of an ssh_config may have any name; an IPv6 address stands in brackets; testinfra takes ?timeout=1.
_SSH = re.compile(
    r"ssh://(?:[^\s@:/?]+@)?(?:[^\s@:/?\[\]-][^\s@:/?\[\]]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?(?:\?\S*)?"
)


def broken_host(rig: Rig) -> Iterator[Problem]:
    problem = host_problem(rig.host.testinfra)
    if problem is not None:
        yield problem
    yield from _broken_pool(rig)


def _broken_pool(rig: Rig) -> Iterator[Problem]:
    pool = rig.host.pool
    for number, address in enumerate(pool):
        here: KeyPath = ("host", "pool", number)
        problem = host_problem(address, here)
        if problem is not None:
            yield problem
        elif address in pool[:number]:
            yield Problem(
                here, f"{spell(address)} a second time", "each host once: one gate at a time works on it"
            )
    for address in rig.host.overrides:
        if address not in pool:
            yield Problem(
                ("host", "overrides", address),
                "no host of the pool" if pool else "a host, and there is no host.pool",
                f"one of host.pool as it is written there: {', '.join(map(spell, pool)) or 'none'}",
            )
    if pool and rig.host.nodes:
        yield Problem(
            ("host", "nodes"),
            "nodes of one server beside a pool, whose hosts have a server each",
            "one of the two: no host.pool, or server.nodes = 1 and no [[host.nodes]]",
        )
    names = [own.name for own in rig.host.overrides.values() if own.name is not None]
    for address, own in rig.host.overrides.items():
        if own.name is not None and names.count(own.name) > 1:
            yield Problem(
                ("host", "overrides", address, "name"),
                f"{spell(own.name)}, as another host",
                "a name of its own",
            )
    if rig.host.each_arm_on > max(1, len(pool)):
        yield Problem(
            ("host", "each_arm_on"),
            str(rig.host.each_arm_on),
            f"at most {max(1, len(pool))}, the hosts of the pool",
        )


def host_problem(address: str, path: KeyPath = ("host", "testinfra")) -> Problem | None:
    """Say what is wrong with the address of a host; None: nothing."""
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
