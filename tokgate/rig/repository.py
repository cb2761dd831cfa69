"""Whose rigs, baselines and reports a command or a pytest run works on: the repository around a folder.

Imported by every pytest of an environment that has tokgate installed, so it imports little and reads little.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

_TABLE = b"[tool.tokgate"
_OURS = Path("perf_tests", "test_clean_slate.py")  # what no repository but a checkout of tokgate has
IN_CHECKOUT, INSTALLED = "perf_tests", "--pyargs tokgate.perf_tests"


def is_declared(folder: Path) -> bool:
    """Say whether `folder` is meant for the gate: it has a folder rigs/, or [tool.tokgate] in its pyproject.toml."""
    if (folder / "rigs").is_dir():
        return True
    with suppress(OSError):
        return _TABLE in (folder / "pyproject.toml").read_bytes()
    return False


def promises_in(root: Path) -> str:
    """Return the words by which pytest, run in the repository `root`, is given all promises of tokgate."""
    return IN_CHECKOUT if (root / _OURS).is_file() else INSTALLED


def spelled(text: str, root: Path) -> str:
    """Return a text whose commands name the promises as they are named in a checkout, spelled for `root`."""
    return text.replace(f"pytest {IN_CHECKOUT} ", f"pytest {promises_in(root)} ")


def repository_of(start: Path) -> Path:
    """Return the nearest folder at or above `start` that is meant for the gate, within the git repository.

    Where none is: the git repository's top, the nearest folder with a pyproject.toml, or `start` itself.
    """
    start = start.resolve()
    fallback: Path | None = None
    for folder in (start, *start.parents):
        if is_declared(folder):
            return folder
        if (folder / ".git").exists():
            return folder
        if fallback is None and (folder / "pyproject.toml").is_file():
            fallback = folder
    return fallback or start
