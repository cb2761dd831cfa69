"""Simulated or real: what the rig says of the machine must be what the server says of itself."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tokgate.records import LaunchEvidence
from tokgate.rig.models import Rig

from .shortfall import Shortfall

_NO = {"", "0", "false", "no", "none", "null"}


def mislabelled(rig: Rig, launch: LaunchEvidence) -> Iterable[Shortfall]:
    """Yield a shortfall where rig and server disagree: a wrong label would let the two kinds be compared."""
    if launch.server is None:
        return
    told = launch.server.server_info.get("simulated")
    if says_simulated(launch.server.server_info) == rig.simulated:
        return
    if rig.simulated:
        yield Shortfall(
            what="the rig says it is simulated; the server does not",
            do="if this server is real, give it a rig without simulated = true: its numbers must not be filed as "
            "simulated ones",
            evidence=(
                f"/server_info: simulated is {told!r}"
                if told is not None
                else "/server_info has no simulated",
            ),
        )
    else:
        yield Shortfall(
            what="the server says it is simulated; the rig does not",
            do="measure a real server, or say simulated = true in the rig: its numbers must not pass for real ones",
            evidence=(f"/server_info: simulated is {str(told)[:200]}",),
        )


def says_simulated(server_info: Mapping[str, Any]) -> bool:
    """Say whether a server declares itself simulated: by anything under that key but a no."""
    told = server_info.get("simulated")
    return str(told).strip().lower() not in _NO if isinstance(told, str | int | float | None) else bool(told)
