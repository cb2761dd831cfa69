"""Whether a running server has a side in front of everything installed, and has really imported from it."""

from __future__ import annotations

from posixpath import normpath
from typing import Any, NamedTuple

from tokgate.hosts.connection import Host
from tokgate.hosts.fingerprint import with_servers_python
from tokgate.hosts.scripts import source
from tokgate.records import EnvironmentTruth, VariableTruth
from tokgate.records.side import SideProof, SideState
from tokgate.rig.models import ArmSpec, Rig

LIMIT_S = 120.0
_NO_CACHE = ("PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX")


def prove(
    host: Host, rig: Rig, arm: ArmSpec, side: SideState, truth: EnvironmentTruth, *, prefix: str
) -> SideProof:
    """Return what shows that the server whose environment `truth` is of runs `side`. HostFault: the host cannot be asked.

    Three things are asked: whether the side is the first in PYTHONPATH of every process, where the server's Python finds
    sglang, and what the side has beside it, when it is started as the server was, and whether it has compiled modules there: a fresh tree has none, so that
    each of them was imported.
    """
    rows = [row for row in truth.rows if row.variable == "PYTHONPATH"]
    with_it = {row.pid for row in rows if in_front(side.root, row.found, row.wanted)}
    without = tuple(
        f"{row.process} (pid {row.pid}): {_why_not(side, row)}" for row in rows if row.pid not in with_it
    )
    variables = {**rig.server.nccl, **rig.server.environment, **arm.environment}
    # As the server has it, what the gate carries beside the side included.
    path = next((row.wanted for row in rows if row.wanted), side.root)
    own = {one.removesuffix(".py"): f"{side.root}/{one}" for one in side.beside}
    place = with_servers_python(
        host,
        rig,
        "sglang_place",
        {"resolve": False, "names": list(own)},
        launched_with={**variables, "PYTHONPATH": path},
    )
    keeps = place["keeps"] and not any(
        variables.get(name) or name in rig.server.pass_environment for name in _NO_CACHE
    )
    told = _told(host, side, prefix, compiled=keeps)
    why = []
    if without:
        why.append(f"the side did not reach {', '.join(without)}")
    if not rows:
        why.append("no process of the server showed its PYTHONPATH")
    if normpath(place["package"] or "/nowhere") != normpath(f"{side.root}/sglang"):
        why.append(f"the server's Python finds sglang in {place['package'] or 'no place'}, not on the side")
    why += [
        f"the server's Python finds {name} in {found or 'no place'}, not on the side"
        for name, found in place["beside"].items()
        if normpath(found or "/nowhere") != normpath(own[name])
    ]
    if keeps and not told["compiled"]:
        why.append("its Python has compiled no module of the side: nothing was imported from it")
    return SideProof(
        side=side.name,
        root=side.root,
        processes=len(with_it),
        without=without,
        resolved=place["package"],
        compiled=told["compiled"],
        changed_imported=tuple(told["imported"]),
        changed_unused=tuple(told["unused"]),
        why=tuple(why),
    )


def in_front(root: str, found: str | None, wanted: str | None) -> bool:
    """Say whether nothing stands before `root` in a PYTHONPATH but what the gate itself has put there."""
    if not found or root not in (entries := found.split(":")):
        return False
    ours = (wanted or "").split(":")
    before = ours[: ours.index(root)] if root in ours else []
    return all(entry in before for entry in entries[: entries.index(root)])


def _why_not(side: SideState, row: VariableTruth) -> str:
    if row.found and side.root in row.found.split(":"):
        return f"it stands behind {row.found.split(side.root)[0].rstrip(':') or 'the working folder'}"
    return row.state.value


class Ended(NamedTuple):
    """A side when one of its servers has stopped."""

    tree: str
    moved: tuple[str, ...]  # what it links to, and is not what it was
    imported: tuple[str, ...]
    unused: tuple[str, ...]


def ended(host: Host, side: SideState, proof: SideProof, *, prefix: str) -> Ended:
    """Return what a side is like now, and what was imported of it by now: some modules are imported late. HostFault: it cannot be read."""
    told = _told(host, side, prefix, compiled=proof.compiled is not None)
    return Ended(told["tree"], tuple(told["moved"]), tuple(told["imported"]), tuple(told["unused"]))


def _told(host: Host, side: SideState, prefix: str, *, compiled: bool) -> dict[str, Any]:
    argument = {
        "root": side.root,
        "places": ["sglang", *side.beside],
        "changed": side.changed,
        "prefix": prefix,
        "compiled": compiled,
    }
    told: dict[str, Any] = host.run_python(
        source("side_proof"), argument, timeout_s=LIMIT_S, name="side proof"
    )
    return told
