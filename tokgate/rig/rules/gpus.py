"""The server asks for no more GPUs than the rig says the host has."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.problems import Problem
from tokgate.rig.sizes import ALIASES, argument, gpus_needed
from tokgate.rig.spelling import KeyPath, spell

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def broken_gpus(rig: Rig) -> Iterator[Problem]:
    if not rig.gpus.count:
        return  # a CPU rig: the ranks run on cores
    told: set[KeyPath] = set()
    for i, arm in enumerate(rig.arms):
        needed = gpus_needed(rig, arm)
        if needed is None:
            continue
        path = _where(rig, i, arm)
        if needed > rig.gpus.count and path not in told:
            told.add(path)
            yield Problem(
                path,
                f"{needed} GPUs asked for by the arm {arm.name} ({_product(rig, arm)})",
                f"no more than gpus.count = {rig.gpus.count}",
            )
        if needed % rig.server.nodes and path not in told:
            told.add(path)
            yield Problem(
                path,
                f"{needed} ranks of the arm {arm.name} ({_product(rig, arm)}) for server.nodes = {rig.server.nodes}",
                "as many ranks on each node: SGLang refuses to start otherwise",
            )
        visible = {**rig.server.environment, **arm.environment}.get(_VISIBLE)
        seen = None if visible is None else len([d for d in visible.split(",") if d.strip()])
        place: KeyPath = (
            ("arms", i, "environment", _VISIBLE)
            if _VISIBLE in arm.environment
            else ("server", "environment", _VISIBLE)
        )
        here = needed // rig.server.nodes  # of a server over several hosts each has its share
        if seen is not None and seen < here and place not in told:
            told.add(place)
            yield Problem(
                place,
                f"{spell(visible)}, {seen} GPUs for the {here} that the arm {arm.name} asks for",
                "as many as the server uses",
            )


def _where(rig: Rig, i: int, arm: ArmSpec) -> KeyPath:
    """Return where the size stands that makes it so many; the arm's own counts first."""
    for names in ALIASES.values():
        for name in names:
            if name in arm.args:
                return ("arms", i, "args", name)
    for names in ALIASES.values():
        for name in names:
            if name in rig.server.args:
                return ("server", "args", name)
    return ("server", "args")


def _product(rig: Rig, arm: ArmSpec) -> str:
    written = [(name, argument(rig, arm, name)) for name in (*ALIASES, "nnodes")]
    return (
        ", ".join(f"{name} = {spell(value)}" for name, value in written if value is not None) or "tp_size = 1"
    )
