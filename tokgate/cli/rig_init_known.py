"""What the rigs of a repository already know of a host: Pythons and models to look at first, and settings to begin with."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from tokgate.errors import GateError, UsageError
from tokgate.rig.first.choices import Based
from tokgate.rig.load import load_rig, rig_file, rig_names
from tokgate.rig.models import Rig
from tokgate.rig.shipped import shipped_root


def rigs_of_host(root: Path, testinfra: str, base: str | None) -> dict[str, Rig]:
    """Return the rigs that are of this host: those of a simulated one, or of another, say nothing of it."""
    found = {}
    # The one to begin with comes first: what it names is looked at and offered before the rest.
    for name in sorted(rig_names(root), key=lambda name: name != base):
        try:
            rig = load_rig(name, root=root)
        except GateError:
            continue  # `tokgate rig list` names it
        if name == base or (rig.host.testinfra == testinfra and not rig.simulated):
            found[name] = rig
    return found


def named_paths(rigs: dict[str, Rig]) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Return Pythons and models that they name, each with which rig."""
    pythons = [(rig.server.python, f"rig {name}") for name, rig in rigs.items()]
    models = [
        (path, f"rig {name}")
        for name, rig in rigs.items()
        for path in dict.fromkeys((rig.server.model_path, *(a.draft_model_path for a in rig.arms)))
        if path
    ]
    return tuple(pythons), tuple(models)


def read_base(name: str, *, root: Path) -> Based:
    """Read a rig as it is written, so that what it leaves out stays left out. UsageError: it is not in order."""
    load_rig(name, root=root)
    file = rig_file(name, root=root).resolve()
    data = tomllib.loads(file.read_text(encoding="utf-8"))
    home = shipped_root() if file.parent == shipped_root() / "rigs" else root.resolve()
    if home != root.resolve():
        # What {root} stands for there is another folder than in the rig to be written.
        data = _replaced(data, "{root}", str(home))
    if file.parent != (root / "rigs").resolve():
        for prompts in data.get("prompt_sets", {}).values():
            if isinstance(prompts.get("file"), str):
                prompts["file"] = str(file.parent / prompts["file"])
    return Based(name=str(data["name"]), data=data)


def refuse_simulated(base: Rig, host: str | None) -> None:
    if base.simulated and host is not None:
        raise UsageError(
            tried=f"beginning a rig of {host} with {base.name}",
            found=f"{base.name} is of the simulated box: its server runs nowhere else",
            do="begin with kimi-k2.5-8gpu, the same for a real box, or leave --host out",
        )


def needs_its_rig(rig: Rig) -> bool:
    """Say whether the rig's Python finds SGLang only with what the rig puts on its PYTHONPATH."""
    return "PYTHONPATH" in rig.server.environment


def _replaced(value: Any, old: str, new: str) -> Any:
    match value:
        case str():
            return value.replace(old, new)
        case dict():
            return {k: _replaced(v, old, new) for k, v in value.items()}
        case list():
            return [_replaced(v, old, new) for v in value]
        case _:
            return value
