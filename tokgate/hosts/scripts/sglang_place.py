"""Where the server's own Python would find sglang, by the very environment that it is started with: nothing of it is imported."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"resolve", "names"} -> {"package": folder or null, "keeps": whether it writes compiled modules beside sources, "beside": name -> folder, file or null}.

    PYTHONPATH is what this interpreter was started with, and its site start-up has run: a sitecustomize or .pth that puts
    another sglang in front has done so here as well. `resolve`: name the folder that links lead to.
    """
    # The server is started in an empty folder of its own.
    sys.path[:] = [entry for entry in sys.path if entry]
    try:
        spec = importlib.util.find_spec("sglang")
    except (ImportError, ValueError):
        spec = None
    folders = list(spec.submodule_search_locations or []) if spec else []
    package = Path(folders[0]) if folders else None
    if package is not None and argument["resolve"]:
        package = package.resolve()
    beside = {name: where(name) for name in argument.get("names", ())}
    return {
        "package": None if package is None else str(package),
        "keeps": sys.pycache_prefix is None,
        "beside": beside,
    }


def where(name: str) -> str | None:
    """Return the folder of a package, the first of several, or the file of a module; None: it is found nowhere."""
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    return next(iter(spec.submodule_search_locations or ()), spec.origin)
