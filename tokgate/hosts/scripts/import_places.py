"""Where the server's own Python would find modules by their names, and what they belong to: nothing of them is imported."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
import sysconfig
from pathlib import Path
from typing import Any


def main(argument: dict[str, Any]) -> dict[str, dict[str, str]]:
    """{"names", "checkout"} -> name -> {"kind", "where"}; without those that it finds nowhere.

    `kind`: "standard" of Python itself; "checkout": below that folder; "sglang": installed with it, or lying beside it; "other".
    """
    sys.path[:] = [entry for entry in sys.path if entry]
    found = {}
    for name in argument["names"]:
        spec = find(name)
        if spec is not None:
            where = place_of(spec)
            found[name] = {"kind": kind_of(name, where, argument["checkout"]), "where": where or "itself"}
    return found


def find(name: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError):
        return None


def place_of(spec: importlib.machinery.ModuleSpec) -> str | None:
    """Return the package's folder or the module's file; None: built in."""
    folders = list(spec.submodule_search_locations or [])
    if folders:
        return str(folders[0])
    return spec.origin if spec.has_location else None


def kind_of(name: str, where: str | None, checkout: str) -> str:
    if where is None or name in getattr(sys, "stdlib_module_names", ()):
        return "standard"
    real = os.path.realpath(where)
    if real.startswith(f"{os.path.realpath(checkout)}{os.sep}"):
        return "checkout"
    paths = sysconfig.get_paths()
    installed = {os.path.realpath(paths[one]) for one in ("purelib", "platlib")}
    standard = {os.path.realpath(paths[one]) for one in ("stdlib", "platstdlib")}
    if Path(real).parent.as_posix() in standard - installed:
        return "standard"
    owners = owners_of(name)
    if owners:
        return "sglang" if owners & owners_of("sglang") else "other"
    package = find("sglang")
    beside = os.path.realpath(str(place_of(package))) if package is not None else ""
    return "sglang" if Path(real).parent == Path(beside).parent else "other"


def owners_of(name: str) -> set[str]:
    """Return the distributions that have installed files below this name."""
    found = set()
    for distribution in importlib.metadata.distributions():
        tops = (distribution.read_text("top_level.txt") or "").split()
        if name in tops or any(file.parts[0] in (name, f"{name}.py") for file in distribution.files or ()):
            found.add(str(distribution.metadata["Name"]))
    return found
