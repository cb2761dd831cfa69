"""Sides opened on this machine or behind ssh, as a session opens them."""

from __future__ import annotations

import sys

from tests.session.rigs import small_rig
from tokgate.hosts.connection import connect
from tokgate.records.side import SideProof, SidesMade
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.rig.sides import SidesSpec
from tokgate.session.sides import Sides


def rig_on(spec: HostSpec, sides: SidesSpec, *, path: str = "") -> Rig:
    rig = small_rig()
    server = rig.server.model_copy(update={"python": sys.executable, "environment": {"PYTHONPATH": path}})
    return rig.model_copy(update={"host": spec, "server": server, "sides": sides})


def sides_on(spec: HostSpec, sides: SidesSpec, *, path: str = "") -> Sides:
    return Sides(
        connect(spec), rig_on(spec, sides, path=path), run_id="run", keep=lambda _: None, say=lambda _: None
    )


def made(sides: Sides) -> SidesMade:
    assert sides.made is not None
    return sides.made


def proof_of(side: str, root: str) -> SideProof:
    return SideProof(side=side, root=root, processes=1)
