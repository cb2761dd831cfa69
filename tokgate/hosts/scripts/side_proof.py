"""What a side is like now, and which of its modules an interpreter has compiled: those that were really imported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tokgate.hosts.scripts.parts.live_links import moved
from tokgate.hosts.scripts.parts.neighbours import below, side_hash


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"root", "places", "changed", "prefix", "compiled"} -> {"tree", "moved", "compiled", "imported", "unused"}.

    `places`: what the side has in its root, sglang and what lies beside it. `tree` is its hash now, `moved` what it links to and is
    not what it was, `compiled` how many modules, the rest which of `changed`.
    """
    root, places = Path(argument["root"]), argument["places"]
    home = Path(os.path.realpath(root / "sglang")).parent
    answer: dict[str, Any] = {
        "tree": side_hash(root, places),
        "moved": moved(root, home),
        "compiled": None,
        "imported": [],
        "unused": [],
    }
    if argument["compiled"]:
        names = set(compiled(root, places))
        answer["compiled"] = len(names)
        front = argument["prefix"]
        inside = [path[len(front) :] for path in argument["changed"] if below(path, front, places)]
        sources = [name for name in inside if name.endswith(".py") and (root / name).is_file()]
        answer["imported"] = [front + name for name in sources if name in names]
        answer["unused"] = [front + name for name in sources if name not in names]
    return answer


def compiled(root: Path, places: list[str]) -> list[str]:
    """Return the sources whose compiled form lies beside them, by their names from the root on: "sglang/srt/server_args.py"."""
    found = [name for name in modules_in(root / "__pycache__") if name in places]
    for place in places:
        real = Path(os.path.realpath(root / place))
        for caches in real.rglob("__pycache__"):
            folder = (Path(place) / caches.parent.relative_to(real)).as_posix()
            found += [f"{folder}/{name}" for name in modules_in(caches)]
    return found


def modules_in(caches: Path) -> list[str]:
    return [f"{path.name.partition('.')[0]}.py" for path in caches.glob("*.pyc")]
