"""A pool of hosts: each by a name that reports and folders can have, and the rig as it is on one of them."""

from __future__ import annotations

import re
from typing import NamedTuple

from .machine import HostOverride, HostSpec
from .models import Rig

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 63


class PoolHost(NamedTuple):
    name: str  # unique in its pool; the name of its folder
    address: str  # as the rig has it
    spec: HostSpec  # as if there were no other


def has_pool(rig: Rig) -> bool:
    return bool(rig.host.pool)


def pool_of(rig: Rig) -> tuple[PoolHost, ...]:
    """Return the hosts of the rig's pool in its order; none without a pool."""
    found: list[PoolHost] = []
    for address in rig.host.pool:
        own = rig.host.overrides.get(address, HostOverride())
        name = own.name or _name_of(address)
        taken = {host.name for host in found}
        unique = next(n for n in (name, *(f"{name}-{k}" for k in range(2, len(found) + 3))) if n not in taken)
        found.append(PoolHost(unique, address, _spec(rig.host, address, own)))
    return tuple(found)


def rig_on(rig: Rig, host: PoolHost) -> Rig:
    """Return the rig as a session on this host alone has it."""
    return rig.model_copy(update={"host": host.spec})


def _spec(shared: HostSpec, address: str, own: HostOverride) -> HostSpec:
    changes = {
        key: value
        for key, value in own.model_dump(exclude={"name", "environment"}).items()
        if value is not None
    }
    return shared.model_copy(
        update={
            "testinfra": address,
            "pool": (),
            "overrides": {},
            "each_arm_on": 1,
            "environment": {**shared.environment, **own.environment},
            **changes,
        }
    )


def _name_of(address: str) -> str:
    """Return "gpu7-2222" of "ssh://me@gpu7:2222"; what is no part of a plain name becomes a dash."""
    kind, _, rest = address.partition("://")
    plain = _NOT_IN_A_NAME.sub("-", rest.rpartition("@")[2] or kind).strip("-._")
    return plain[:_LONGEST] or "host"
