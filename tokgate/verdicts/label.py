"""Simulated or real: what the rig says of the machine must be what server and GPUs say of themselves."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from tokgate.records import LaunchEvidence
from tokgate.rig.models import Rig

from .shortfall import Shortfall

_NO = {"", "0", "false", "no", "none", "null"}
_WORD = re.compile(r"\bsimulated\b", re.IGNORECASE)
_DO = "measure a real server, or say simulated = true in the rig: its numbers must not pass for real ones"


def mislabelled(rig: Rig, launch: LaunchEvidence) -> Iterable[Shortfall]:
    """Yield a shortfall where the rig and what was met disagree: a wrong label would let the two kinds be compared.

    A server declares itself either way. A GPU's name that says "simulated" is a declaration, one that does not is none.
    """
    named = [
        gpu for gpu in (launch.slate.gpus if launch.slate is not None else ()) if _WORD.search(gpu.name or "")
    ]
    if named and not rig.simulated:
        yield Shortfall(
            what="the GPUs' names say that they are simulated; the rig does not",
            do=_DO,
            evidence=(f"GPU {named[0].index}: {(named[0].name or '')[:200]}",),
        )
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
            do=_DO,
            evidence=(f"/server_info: simulated is {str(told)[:200]}",),
        )


def says_simulated(server_info: Mapping[str, Any]) -> bool:
    """Say whether a server declares itself simulated: by anything under that key but a no."""
    told = server_info.get("simulated")
    return str(told).strip().lower() not in _NO if isinstance(told, str | int | float | None) else bool(told)
