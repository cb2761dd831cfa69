"""Where a server is reached, and what it says of itself there."""

from __future__ import annotations

from typing import Any

from tokgate.client.control import Control
from tokgate.client.exchange import Target
from tokgate.errors import BenchFault
from tokgate.records.redactor import Redactor
from tokgate.rig.models import ArmSpec, Rig

from .command_line import LOOPBACK

# What a server may be told to bind to -> where it is reached from its own machine.
REACHED_AT = {"0.0.0.0": LOOPBACK, "": LOOPBACK, "localhost": LOOPBACK, "::": "::1"}  # noqa: S104 - nothing is bound


def address_of(rig: Rig, arm: ArmSpec) -> str:
    """Return the address by which the server is reached from its own machine."""
    if rig.server.bind == "loopback":
        return LOOPBACK
    written = str({**rig.server.args, **arm.args}.get("host", LOOPBACK))
    return REACHED_AT.get(written, written)


def url_of(target: Target) -> str:
    host = f"[{target.host}]" if ":" in target.host else target.host
    return f"http://{host}:{target.port}"


def server_info(target: Target, redactor: Redactor) -> dict[str, Any]:
    """Return fields of ServerRun from GET /server_info: that, cleaned, and the version in it; or a warning."""
    try:
        with Control(url_of(target), target.api_key) as control:
            info = redactor.clean_json(control.server_info())
    except BenchFault as fault:
        return {"warnings": (redactor.clean(f"no /server_info: {fault.found}"),)}
    version = info.get("version")
    return {"server_info": info, "sglang_version": version if isinstance(version, str) else None}
