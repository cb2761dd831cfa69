"""The Python environment of the box: where its SGLang is installed, and where whoever looks finds it.

STATE/venv is a real virtual environment without pip, made in milliseconds when the box comes up:

    bin/python3                       the interpreter that made it
    lib/python3.N/site-packages/      a copy of simbox/trees/clean, sglang and its dist-info, with the files of
                                      another tree over it where one is asked for
                                      and links to simbox and to the two packages it needs
    checkout, needs                   links by which bin/python3 of this folder sees whether all of it still holds

Links and no .pth file: nothing is executed at the start of Python, and nothing else of the environment that made it
can be imported.
"""

from __future__ import annotations

import importlib.machinery
import os
import shutil
import site
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
TREES = Path(__file__).parent / "trees"
CLEAN = "clean"  # the whole tree; any other has only the files that differ
NEEDS = ("h11", "setproctitle")
_LIBRARY = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"


class NoEnvironmentError(Exception):
    """The box's environment cannot be made; the message says what is missing."""


def python_of(state: Path) -> Path:
    """Return the box's own interpreter."""
    return state / "venv" / "bin" / "python3"


def site_packages(state: Path) -> Path:
    """Return the folder that the box's sglang lies in."""
    return state / "venv" / _LIBRARY


def make(state: Path, tree: str) -> None:
    """Make the environment anew with the SGLang tree of this name, whatever was there. NoEnvironmentError."""
    packages = {name: _package(name) for name in NEEDS}
    interpreter = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
    draft = state / f".venv.{os.getpid()}"
    shutil.rmtree(draft, ignore_errors=True)
    library = draft / _LIBRARY
    library.mkdir(parents=True)
    (draft / "bin").mkdir()
    (draft / "bin" / "python3").symlink_to(interpreter)
    version = ".".join(map(str, sys.version_info[:3]))
    (draft / "pyvenv.cfg").write_text(
        f"home = {interpreter.parent}\ninclude-system-site-packages = false\nversion = {version}\n",
        encoding="utf-8",
    )
    lay(tree, library)
    for name, package in packages.items():
        (library / name).symlink_to(package)
    (library / "simbox").symlink_to(CHECKOUT / "simbox")
    (draft / "needs").symlink_to(packages[NEEDS[-1]])
    (draft / "checkout").symlink_to(CHECKOUT)
    venv, old = state / "venv", state / f".venv.{os.getpid()}.old"
    if venv.exists():
        venv.rename(old)
    draft.rename(venv)
    shutil.rmtree(old, ignore_errors=True)


def lay(tree: str, folder: Path) -> None:
    """Copy the SGLang tree of this name into a folder that exists: the clean one, with its own files over it."""
    for name in dict.fromkeys((CLEAN, tree)):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(TREES / name, folder, ignore=ignored, dirs_exist_ok=True)


def is_sound(state: Path) -> bool:
    """Say whether the environment is there, leads to this checkout and an interpreter, and holds its SGLang tree."""
    venv = state / "venv"
    return (
        python_of(state).exists()
        and (venv / "needs").exists()
        and (venv / "checkout").resolve() == CHECKOUT
        and _record(site_packages(state)) == _record(TREES / CLEAN)
    )


def _record(folder: Path) -> str | None:
    """Return what an installed SGLang says it consists of; None: nothing."""
    found = sorted(folder.glob("sglang-*.dist-info/RECORD"))
    return found[0].read_text(encoding="utf-8") if found else None


def _package(name: str) -> Path:
    """Find an installed package without importing it, also where Python runs without its site-packages (-S)."""
    beside = str(Path(sys.executable).parent.parent)
    folders = [*sys.path, *site.getsitepackages([sys.prefix, beside])]
    found = importlib.machinery.PathFinder.find_spec(name, folders)
    if found is None and sys.flags.no_site:
        site.main()  # where a .pth file, or the system's own Python, leads to it
        found = importlib.machinery.PathFinder.find_spec(name)
    if found is None or not found.origin:
        raise NoEnvironmentError(
            f"{sys.executable} has no {name}: pip install 'tokgate[sim]' in its environment; in a checkout, make venv"
        )
    return Path(found.origin).parent
