"""Trees of SGLang made on the host for one session, below host.work_dir; what they are made of is not touched."""

from __future__ import annotations

import secrets
from typing import Any, NamedTuple

from tokgate.errors import HostFault, SideFault
from tokgate.hosts.connection import Host
from tokgate.hosts.fingerprint import with_servers_python
from tokgate.hosts.scripts import source
from tokgate.hosts.side_beside import Beside, beside
from tokgate.records.side import BASE, HEAD, UPTO, WITHOUT, SideState, Unit
from tokgate.rig.models import Rig
from tokgate.rig.sides import PatchText

TRIED = "to make the sides of the change"
LOOK_LIMIT_S = 600.0  # a first look at a large checkout on a cold disk
MAKE_LIMIT_S = 300.0
REMOVE_LIMIT_S = 120.0


class Looked(NamedTuple):
    """A change as it lies on the host: what each side will be, before any tree is there."""

    folder: str  # the session's own, on the host
    units: tuple[Unit, ...]
    notes: tuple[str, ...]
    prefix: str  # what stands before "sglang/" in names of the tree: "python/"
    installed: SideState | None  # where nothing has to be made: the package has the required patches already
    told: dict[str, Any]  # by scripts/side_look.py
    beside: Beside = Beside()  # what is imported from the sides and lies beside sglang

    @property
    def imported(self) -> tuple[str, ...]:
        """Places of the tree that servers import from."""
        places = ["sglang/", *(_as_place(one["place"]) for one in self.beside.served)]
        return tuple(f"{self.prefix}{place}" for place in places)


def new_folder(host: Host, run_id: str) -> str:
    """Return the folder that a session's trees will be in; nothing is made yet."""
    return f"{parent_of(host)}/{run_id}-{secrets.token_hex(4)}"


def look(host: Host, rig: Rig, folder: str) -> Looked:
    """Find out what the sides are. SideFault: they cannot be made, or comparing them would say nothing."""
    spec = rig.sides
    package = None
    if spec is None or spec.repository is None:
        package = with_servers_python(host, rig, "sglang_place", {"resolve": True})["package"]
    argument = {
        "folder": folder,
        "repository": spec.repository if spec else None,
        "package": package,
        "base": spec.base if spec else None,
        "head": spec.head if spec else None,
        "patches": [_sent(patch) for patch in spec.patches] if spec else [],
        "applied": bool(spec and spec.applied),
        "question": spec.question if spec else None,
        "required": [_sent(patch) for patch in rig.server.required],
    }
    told = _answer(host, "side_look", argument, LOOK_LIMIT_S)
    neighbours = beside(host, rig, told, tried=f"{TRIED} on {host.name}")
    looked = Looked(
        folder=folder,
        units=tuple(Unit(**{**unit, "files": tuple(unit["files"])}) for unit in told.get("units", ())),
        notes=(*told.get("notes", ()), *neighbours.notes),
        prefix=told["prefix"],
        installed=None,
        told=told,
        beside=neighbours,
    )
    if "installed" not in told:
        return looked
    proof = host.run_python(
        source("side_proof"),
        {
            "root": str(package).rpartition("/")[0],
            "places": ["sglang"],
            "changed": [],
            "prefix": "",
            "compiled": False,
        },
        timeout_s=MAKE_LIMIT_S,
        name="side proof",
    )
    names = ", ".join(told["installed"]["names"])
    state = SideState(
        name=HEAD,
        kind="installed",
        root=str(package).rpartition("/")[0],
        source=told["source"],
        required=_required(rig),
        tree=proof["tree"],
        notes=(f"the package has what the rig requires already: {names}",),
    )
    return looked._replace(installed=state)


def make(host: Host, rig: Rig, looked: Looked, name: str, base: SideState | None) -> SideState:
    """Make one side. `base`: the side that it differs from, None while there is none. SideFault: it cannot be made."""
    steps = looked.told["steps"]
    whole = name == HEAD or name.startswith(WITHOUT)
    count = 0 if name == BASE else len(steps) - 1 if whole else int(name.removeprefix(UPTO))
    lacks = int(name.removeprefix(WITHOUT)) if name.startswith(WITHOUT) else None
    done = looked.told["required_in"]
    told = _answer(
        host,
        "side_make",
        {
            "folder": looked.folder,
            "name": name,
            "commit": steps[count],
            "without": steps[lacks - 1 : lacks + 1] if lacks is not None else None,
            "base": base.name if base is not None else None,
            "prefix": looked.prefix,
            "kind": looked.told["kind"],
            "required": [_sent(patch) for patch in rig.server.required] if done is None else [],
            "carry": looked.told["carry"],
            "carry_from": looked.told["carry_from"],
            "touched": looked.told["touched"],
            "served": looked.beside.served,
            "source": looked.told["source"],
            "lfs": looked.told["lfs"],
            "whole": name == HEAD and base is not None,
        },
        MAKE_LIMIT_S,
    )
    found_in = [*(done or ()), *told["found_in"]]
    notes = [f"the required patch {patch} is in it already" for patch in found_in]
    return SideState(
        name=name,
        kind=looked.told["kind"],
        root=told["root"],
        source=looked.told["source"],
        ref=_ref(rig, name),
        commit=looked.told["commits"][count],
        dirty=looked.told["dirty"][count],
        version=told["version"],
        units=tuple(unit for k, unit in enumerate(looked.units[:count], start=1) if k != lacks),
        required=_required(rig),
        changed=tuple(told["changed"]),
        tree=told["tree"],
        beside=tuple(told["beside"]),
        carried=tuple(told["carried"]),
        notes=(*notes, *told["notes"]),
    )


def remove(host: Host, folder: str) -> tuple[str, ...]:
    """Remove the trees of this session. Return what could not be removed, in words. Never raises HostFault."""
    parent, _, name = folder.rpartition("/")
    try:
        told = _remove(host, parent, name)
    except HostFault as fault:
        return (
            f"the sides in {folder} on {host.name} were not removed: {fault.found}; the next gate there removes them",
        )
    return tuple(f"{parent}/{left} was not removed: {why}" for left, why in told["left"].items())


def remove_leavings(host: Host) -> tuple[str, ...]:
    """Remove the trees that killed gates have left; the lease must be held. Return what was done, in words."""
    parent = parent_of(host)
    told = _remove(host, parent, None)
    lines = []
    if told["removed"]:
        names = ", ".join(told["removed"])
        lines.append(f"removed the trees that a killed gate had left in {parent}: {names}")
    lines += [f"{parent}/{name} of another gate was left: {why}" for name, why in told["left"].items()]
    return tuple(lines)


def parent_of(host: Host) -> str:
    return f"{host.spec.work_dir.rstrip('/')}/sides"


def _remove(host: Host, parent: str, only: str | None) -> dict[str, Any]:
    argument = {"parent": parent, "only": only}
    told: dict[str, Any] = host.run_python(
        source("side_remove"), argument, timeout_s=REMOVE_LIMIT_S, name="remover of sides"
    )
    return told


def _answer(host: Host, script: str, argument: dict[str, Any], limit_s: float) -> dict[str, Any]:
    told: dict[str, Any] = host.run_python(
        source(script), argument, timeout_s=limit_s, name=script.replace("_", " ")
    )
    if "refused" in told:
        raise SideFault(tried=f"{TRIED} on {host.name}", **told["refused"])
    return told


def _sent(patch: PatchText) -> dict[str, str]:
    return {"name": patch.name, "text": patch.text, "sha256": patch.sha256}


def _required(rig: Rig) -> tuple[Unit, ...]:
    return tuple(Unit(name=p.name, kind="patch", id=p.sha256) for p in rig.server.required)


def _as_place(place: str) -> str:
    return place if place.endswith(".py") else f"{place}/"


def _ref(rig: Rig, name: str) -> str | None:
    if rig.sides is None:
        return None
    return rig.sides.base if name == BASE else rig.sides.head if name == HEAD else None
