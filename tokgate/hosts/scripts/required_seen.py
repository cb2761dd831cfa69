"""Whether patches that a rig requires are in an SGLang already, or can be applied to it: asked of copies, nothing of it is touched."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokgate.hosts.scripts.parts.git_calls import GitFailed, Refused, check_version, shown
from tokgate.hosts.scripts.parts.looked_up import prefix_of, resolve
from tokgate.hosts.scripts.parts.own_repository import borrow, foreign
from tokgate.hosts.scripts.parts.patching import Patcher
from tokgate.hosts.scripts.parts.tree_files import Content, Reader, commit

_NAMED = re.compile(
    r'^(?:--- |\+\+\+ |(?:rename|copy) from )"?(?P<file>[^\t\n"]+)', re.MULTILINE
)  # as git and diff -u write them
_PACKAGE = "sglang/"


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"package" or null, "repository" or null, "required"} -> {"rows": [{"name", "state", "found", "do"}]}, in order.

    Of a repository its HEAD is looked at. `state`: "in", "applies" or "not". {"refused": {"found", "do"}}: it cannot be asked.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        try:
            check_version(folder)
            if argument["repository"] is not None:
                patcher, tree = of_repository(folder, argument["repository"])
            else:
                patcher, tree = of_package(folder, Path(argument["package"]), argument["required"])
            return {"rows": list(judged(patcher, tree, argument["required"]))}
        except Refused as refused:
            return {"refused": {"found": refused.found, "do": refused.do}}
        except GitFailed as failed:
            do = "see by hand what git says of it there"
            return {"refused": {"found": f"git: {shown(str(failed), 600)}", "do": do}}


def of_repository(folder: Path, repository: str) -> tuple[Patcher, str]:
    theirs = foreign(folder, repository)
    git = borrow(folder, theirs)
    head = resolve(theirs, "HEAD", repository)
    return Patcher(git, folder, prefix_of(git, head, repository), package_only=False), head


def of_package(folder: Path, package: Path, required: list[dict[str, Any]]) -> tuple[Patcher, str]:
    """Copy no more of it than the patches name."""
    git = borrow(folder, None)
    names = {
        match["file"].partition(f"/{_PACKAGE}")[2] or match["file"].removeprefix(_PACKAGE)
        for patch in required
        for match in _NAMED.finditer(patch["text"])
    }
    reader = Reader(package)

    def files() -> Iterator[tuple[str, Content]]:
        for name in sorted(names):
            if (content := reader.read(name)) is not None:
                yield f"python/{_PACKAGE}{name}", content

    tree = commit(git, "package", start=None, files=files())
    return Patcher(git, folder, "python/", package_only=True), tree


def judged(patcher: Patcher, tree: str, required: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for patch in required:
        row = {"name": shown(patch["name"]), "state": "in", "found": None, "do": None}
        try:
            if not patcher.is_in(tree, patch):
                tree, _ = patcher.apply(tree, patch)
                row["state"] = "applies"
        except Refused as refused:
            row.update(state="not", found=refused.found, do=refused.do)
        yield row
