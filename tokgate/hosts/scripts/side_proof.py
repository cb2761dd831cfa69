"""What a side is like now, and which of its modules an interpreter has compiled: those that were really imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tokgate.hosts.scripts.parts.live_links import moved
from tokgate.hosts.scripts.parts.tree_files import tree_hash


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"root", "changed", "prefix", "compiled"} -> {"tree", "moved", "compiled", "imported", "unused"}.

    `tree` is its hash now, `moved` what it links to and is not what it was, `compiled` how many modules, the rest which of `changed`.
    """
    root = Path(argument["root"])
    package = (root / "sglang").resolve()
    answer: dict[str, Any] = {
        "tree": tree_hash(package),
        "moved": moved(root, package),
        "compiled": None,
        "imported": [],
        "unused": [],
    }
    if argument["compiled"]:
        names = set(compiled(package))
        answer["compiled"] = len(names)
        front = argument["prefix"] + "sglang/"
        inside = [path[len(front) :] for path in argument["changed"] if path.startswith(front)]
        sources = [name for name in inside if name.endswith(".py") and (package / name).is_file()]
        answer["imported"] = [front + name for name in sources if name in names]
        answer["unused"] = [front + name for name in sources if name not in names]
    return answer


def compiled(package: Path) -> list[str]:
    """Return the sources whose compiled form lies beside them, relative to the package: "srt/server_args.py"."""
    found = []
    for path in package.rglob("__pycache__/*.pyc"):
        folder = path.parent.parent.relative_to(package).as_posix()
        name = f"{path.name.partition('.')[0]}.py"
        found.append(name if folder == "." else f"{folder}/{name}")
    return found
