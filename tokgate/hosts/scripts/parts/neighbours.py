"""What lies beside the package sglang in its folder and can be imported from there: other packages, and single modules."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from tokgate.hosts.scripts.parts.git_calls import Git, Refused, shown
from tokgate.hosts.scripts.parts.tree_files import file_digest, tree_hash

PACKAGE = "sglang"
# Of installers, test runners and readers: no server imports them.
_OF_TOOLS = (
    "setup",
    "conftest",
    "noxfile",
    "versioneer",
    "test",
    "tests",
    "docs",
    "examples",
    "benchmark",
    "benchmarks",
)
# Python runs them when it starts, of whatever folder they lie in: a side has neither.
STARTUP = ("sitecustomize", "usercustomize")


def module_of(place: str) -> str | None:
    """Return by what name a file or folder beside sglang is imported; None: by none."""
    name = place.removesuffix(".py")
    return name if name.isidentifier() and name not in (PACKAGE, *_OF_TOOLS) else None


def neighbours(git: Git, commit: str, prefix: str) -> dict[str, str]:
    """Return what a commit has beside the package: name of import -> file or folder. Folders without any Python are none."""
    found = {}
    for row in git.names("ls-tree", "-z", "--full-tree", commit, *(("--", prefix) if prefix else ())):
        facts, _, path = row.partition("\t")
        kind, place = facts.split()[1], path[len(prefix) :]
        name = module_of(place)
        if name is None or (kind == "tree" and not _importable(git, commit, prefix, place)):
            continue
        if kind == "blob" and not place.endswith(".py") and not facts.startswith("120000"):
            continue
        found[name] = place
    return found


def _importable(git: Git, commit: str, prefix: str, place: str) -> bool:
    """At the top of a repository only what says that it is a package is one: beside it are documents and tests."""
    inside = git.names("ls-tree", "-r", "-z", "--name-only", "--full-tree", commit, "--", f"{prefix}{place}")
    if f"{prefix}{place}/__init__.py" in inside:
        return True
    return bool(prefix) and any(path.endswith(".py") for path in inside)


def of_names(names: Iterable[str], prefix: str) -> dict[str, str]:
    """Return the packages and single modules beside sglang that a list of files has: those that steps in between touch."""
    found = {}
    for path in names:
        if not path.startswith(prefix):
            continue
        place, slash, rest = path[len(prefix) :].partition("/")
        name = module_of(place)
        if name is not None and (rest == "__init__.py" if slash else place.endswith(".py")):
            found[name] = place
    return found


def untracked(index: Git, prefix: str) -> dict[str, str]:
    """Return those of the working tree that are not tracked yet; what runs when Python starts is not among them."""
    if not prefix:
        return {}  # at the top of a repository: somebody's scripts
    paths = index.names(
        "ls-files", "--others", "--exclude-standard", "-z", "--", prefix.rstrip("/"), ".gitignore"
    )
    return {name: place for name, place in of_names(paths, prefix).items() if name not in STARTUP}


def below(path: str, prefix: str, places: Iterable[str]) -> bool:
    """Say whether a file of the repository is one of these places, or in one."""
    return any(path == f"{prefix}{one}" or path.startswith(f"{prefix}{one}/") for one in places)


def refuse_outside(patch: str, outside: Sequence[str], home: Path) -> None:
    """Refused: of an installed package a patch changes one that is installed beside it, of which no copy is made."""
    for path in outside:
        parts = path.split("/")
        parts = parts[1:] if parts[0] == "python" else parts
        name = module_of(parts[0]) if parts else None
        if name is None or not path.endswith(".py") or name in STARTUP:
            continue
        there = next((p for p in (home / name, home / f"{name}.py") if os.path.lexists(p)), None)
        if there is not None:
            raise Refused(
                f"the patch {shown(patch)} changes {shown(path)}, and servers import {name} from {there}: a side of an installed "
                "package has sglang alone",
                "measure it on a checkout: --sglang-repo PATH; or leave that file out of the patch",
            )


def side_hash(root: Path, places: Sequence[str]) -> str:
    """Return one hash over everything that a side serves. `places`: of `root`, sglang among them."""
    found = {place: _place_hash(root / place) for place in places}
    if set(found) == {PACKAGE}:
        return found[PACKAGE]
    whole = hashlib.sha256()
    for place, one in sorted(found.items()):
        whole.update(os.fsencode(place) + b"\0" + one.encode() + b"\0")
    return whole.hexdigest()


def _place_hash(path: Path) -> str:
    real = Path(os.path.realpath(path))
    return tree_hash(real) if real.is_dir() else file_digest(real).hex()
