"""What a rig's file only names: the patches that its SGLang has to have, read with the rig; and keys that no file may have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokgate.errors import UsageError

from .models import Rig
from .patch_file import read_patch
from .problems import Problem
from .sides import PatchText
from .spelling import spell


def set_by_us(data: dict[str, Any]) -> Iterator[Problem]:
    """Name what is in a file although the loader or the gate's options set it."""
    if "checkout" in data:
        yield Problem(("checkout",), spell(data["checkout"]), "nothing: it is set by the loader")
    if "sides" in data:
        yield Problem(
            ("sides",), spell(data["sides"]), "nothing: --base, --head and --patch set it, for one run"
        )
    server = data.get("server")
    if isinstance(server, dict) and "required" in server:
        yield Problem(
            ("server", "required"), spell(server["required"]), "nothing: name the files in required_patches"
        )


def required_patches(rig: Rig, home: Path) -> tuple[tuple[PatchText, ...], list[Problem]]:
    """Read the patches that the rig's SGLang has to have: neither its host nor a stored run needs the files."""
    found: list[PatchText] = []
    problems: list[Problem] = []
    for index, name in enumerate(rig.server.required_patches):
        try:
            found.append(read_patch(home / name))
        except UsageError as error:
            path = ("server", "required_patches", index)
            problems.append(
                Problem(path, f"{spell(name)}: {error.found}", f"a patch file below {home}: {error.do}")
            )
    return tuple(found), problems
