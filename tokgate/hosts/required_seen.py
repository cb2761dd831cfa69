"""Whether the patches that a rig requires are in an SGLang, or can be applied to it."""

from __future__ import annotations

from typing import Literal

from tokgate.errors import SideFault
from tokgate.hosts.connection import Host
from tokgate.hosts.fingerprint import with_servers_python
from tokgate.hosts.scripts import source
from tokgate.records.record import Record
from tokgate.rig.models import Rig

LIMIT_S = 60.0


class RequiredSeen(Record):
    """One patch, as it stands to one SGLang."""

    name: str
    state: Literal["in", "applies", "not"]
    found: str | None = None  # why it does not apply
    do: str | None = None


def installed_package(host: Host, rig: Rig) -> str | None:
    """Return the folder that server.python imports sglang from; None: it finds none. HostFault: it cannot be asked."""
    found: str | None = with_servers_python(host, rig, "sglang_place", {"resolve": True})["package"]
    return found


def required_seen(
    host: Host, rig: Rig, *, package: str | None, repository: str | None
) -> tuple[RequiredSeen, ...]:
    """Look at HEAD of a checkout, or at an installed package. SideFault: it cannot be read. HostFault: the host cannot be asked."""
    required = [{"name": p.name, "text": p.text, "sha256": p.sha256} for p in rig.server.required]
    argument = {"package": package, "repository": repository, "required": required}
    told = host.run_python(
        source("required_seen"), argument, timeout_s=LIMIT_S, name="reader of required patches"
    )
    if "refused" in told:
        where = repository or package
        raise SideFault(tried=f"to see whether {where} has what the rig requires", **told["refused"])
    return tuple(RequiredSeen(**row) for row in told["rows"])
