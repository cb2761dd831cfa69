"""What the server's own Python has for a SGLang, told without importing it: what it asks for, hooks, names it reads."""

from __future__ import annotations

import importlib.machinery
import importlib.metadata
import importlib.util
import re
import sys
import time
from pathlib import Path
from typing import Any

PLUGINS = "sglang.srt.plugins"


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"module", "variables": [...], "budget_s"} -> {"module", "requires", "plugins", "torch_cuda", "unread_variables"}."""
    sys.path[:] = [entry for entry in sys.path if entry]
    sglang = package("sglang")
    return {
        "module": source_of(argument["module"]),
        "requires": requires(),
        "plugins": bool(sglang and (sglang / "srt" / "plugins").is_dir()),
        "entry_points": [e.name for e in entry_points()],
        "torch_cuda": torch_cuda(),
        "unread_variables": unread(sglang, argument["variables"], argument["budget_s"]),
    }


def package(name: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    folders = list(spec.submodule_search_locations or []) if spec else []
    return Path(folders[0]) if folders else None


def source_of(module: str) -> str | None:
    """Return the file that `python -m module` would run. Nothing is imported: a package's parent would be."""
    top, *rest = module.split(".")
    folder = package(top)
    if not rest:
        spec = importlib.util.find_spec(top)
        return spec.origin if spec else None
    if folder is None:
        return None
    for file in (folder.joinpath(*rest).with_suffix(".py"), folder.joinpath(*rest, "__main__.py")):
        if file.is_file():
            return str(file)
    return None


def requires() -> dict[str, str]:
    """Return what SGLang asks for in one version only, e.g. {"torch": "2.8.0"}; extras left out."""
    try:
        told = importlib.metadata.requires("sglang") or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    found = {}
    for line in told:
        match = re.match(r"([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*\(?==\s*([0-9][^\s;,)]*)", line)
        if match and "extra" not in line.partition(";")[2]:
            found[re.sub(r"[-_.]+", "-", match[1]).lower()] = match[2]
    return found


def entry_points() -> list[importlib.metadata.EntryPoint]:
    return [
        e for d in importlib.metadata.distributions() for e in (d.entry_points or []) if e.group == PLUGINS
    ]


def torch_cuda() -> str | None:
    """Return the CUDA that torch was built for, as torch/version.py has it: "12.8", "none" for a CPU build."""
    folder = package("torch")
    if folder is None:
        return None
    try:
        told = (folder / "version.py").read_text(encoding="utf-8")
    except OSError:
        return None
    match = re.search(r"^cuda\s*(?::[^=]*)?=\s*(?:'([^']*)'|\"([^\"]*)\"|None)", told, re.MULTILINE)
    return (match[1] or match[2] or "none") if match else None


def unread(sglang: Path | None, names: list[str], budget_s: float) -> list[str] | None:
    """Return the variables that no file of SGLang mentions; None: not all files were read."""
    if sglang is None or not names:
        return [] if not names else None
    # Whole names: one may begin as another does.
    left = {name: re.compile(rb"(?<![A-Z0-9_])" + name.encode() + rb"(?![A-Z0-9_])") for name in names}
    deadline = time.monotonic() + budget_s
    for file in sglang.rglob("*.py"):
        if not left:
            break
        if time.monotonic() > deadline:
            return None
        try:
            content = file.read_bytes()
        except OSError:
            continue
        left = {name: word for name, word in left.items() if not word.search(content)}
    return sorted(left)
