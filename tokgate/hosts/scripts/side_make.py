"""Makes one tree of SGLang in the gate's own folder: a worktree of its own repository.

What stands in PYTHONPATH is another folder, which has the package and what the checkout has to import beside it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokgate.hosts.scripts.parts.brought import carry, fill_pointers, link_submodules
from tokgate.hosts.scripts.parts.git_calls import Git, GitFailed, Refused, shown
from tokgate.hosts.scripts.parts.live_links import record, recorded
from tokgate.hosts.scripts.parts.neighbours import side_hash
from tokgate.hosts.scripts.parts.own_repository import why_unreadable
from tokgate.hosts.scripts.parts.patching import Patcher
from tokgate.hosts.scripts.parts.side_rules import imported, listed

_VERSION = re.compile(r"""^__version__\s*(?::[^=]*)?=.*?["']([^"']+)["']""", re.MULTILINE)
MOST_CHANGED = 500
MADE = "refs/tokgate/sides"
# In the place of a package that a side's commit has not and another place has: there it would be imported all the same.
ABSENT = "raise ModuleNotFoundError('this side of the change has no {name}', name='{name}')\n"


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """Make a side of what side_look.py found: {"folder", "name", "commit", "without", "base", "prefix", "kind", "required", ...}.

    "served": what lies beside sglang and is imported from the side, {"name", "place", "elsewhere"} each; "carry" and "carry_from": files that
    no commit holds; "touched": files that any step changes; "lfs": where git-lfs keeps the checkout's objects; "whole": whether it
    is the change as a whole, which has to differ from its base. {"refused": {"found", "do"}} where it cannot be made.
    """
    try:
        return make({**argument, "places": ["sglang", *(one["place"] for one in argument["served"])]})
    except Refused as refused:
        take_back(Path(argument["folder"]), argument["name"])
        return {"refused": {"found": refused.found, "do": refused.do}}
    except GitFailed as failed:
        take_back(Path(argument["folder"]), argument["name"])
        gone = why_unreadable(Path(argument["folder"]), argument["source"], str(failed))
        found, do = gone or (f"git: {shown(str(failed), 1000)}", "see what git says; is the disk full?")
        return {"refused": {"found": found, "do": do}}


def make(argument: dict[str, Any]) -> dict[str, Any]:
    folder, prefix, name = Path(argument["folder"]), argument["prefix"], argument["name"]
    git = Git(folder, "--git-dir", str(folder / "git"))
    patcher = Patcher(git, folder, prefix, package_only=argument["kind"] == "copy")
    commit, found_in = argument["commit"], []
    if argument.get("without"):
        commit = taken_out(git, folder, commit, *argument["without"])
    for patch in argument["required"]:
        if patcher.is_in(commit, patch):
            found_in.append(patch["name"])
        else:
            commit, _ = patcher.apply(commit, patch)
    tree = folder / "trees" / name
    home = tree / prefix
    write_tree(git, tree, commit, prefix, argument["places"])
    brought = carry(argument, home)
    carried, linked = brought.names, brought.linked
    notes = [f"linked, not copied, for their size: {listed(linked)}"] if linked else []
    for part in (fill_pointers, link_submodules):
        names, links, said = part(argument, home, git, commit)
        carried, linked, notes = [*carried, *names], [*linked, *links], [*notes, *said]
    root = folder / name
    beside, absent = put_in_front(root, home, argument["served"])
    if absent:
        notes.append(f"it has no {listed(absent)}, and importing that fails as it would without the checkout")
    record(root, home, linked, brought.copied)
    if argument["base"] is not None:
        same_as_before(folder / argument["base"], root)
    git("update-ref", f"{MADE}/{name}", commit)
    changed = []
    if argument["base"] is not None:
        changed = git.names(
            *("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--no-commit-id"),
            *(f"{MADE}/{argument['base']}", commit),
        )
    if argument["whole"] and not any(imported(path, prefix, argument["places"]) for path in changed):
        raise Refused(*nothing_left(changed, found_in, argument))
    return {
        "root": str(root),
        "changed": [shown(path) for path in changed[:MOST_CHANGED]],
        "tree": side_hash(root, ["sglang", *beside]),
        "beside": beside,
        "version": written_version(home / "sglang"),
        "carried": [shown(one) for one in carried],
        "found_in": found_in,
        "notes": notes,
    }


def take_back(folder: Path, name: str) -> None:
    """Remove what there is of a side that could not be made: it may be asked for again."""
    for place in (folder / "trees" / name, folder / name):
        shutil.rmtree(place, ignore_errors=True)
    with contextlib.suppress(GitFailed):
        Git(folder, "--git-dir", str(folder / "git"))("worktree", "prune")


def write_tree(git: Git, tree: Path, commit: str, prefix: str, places: Sequence[str]) -> None:
    """Write a commit's tree, as much of it as Python reads."""
    tree.parent.mkdir(exist_ok=True)
    git("worktree", "add", "--quiet", "--detach", "--no-checkout", str(tree), commit)
    there = Git(git.home, "-C", str(tree)).with_variables(GIT_LITERAL_PATHSPECS="0")
    # The package, and what lies beside it: nothing else of the repository is imported.
    wanted = [f"/{prefix}"] if prefix else [f"/{one}" for one in places]
    there("sparse-checkout", "set", "--no-cone", *wanted)
    there("read-tree", "-m", "-u", "HEAD")
    inside = [path for place in places for path in (tree / prefix / place, *inside_of(tree / prefix / place))]
    if any(leads_beside(path, tree) for path in inside if path.is_symlink()):
        there("sparse-checkout", "disable")
    for caches in [p for p in inside if p.name == "__pycache__" and p.is_dir() and not p.is_symlink()]:
        shutil.rmtree(caches)  # one that was committed would tell of another machine's imports


def inside_of(place: Path) -> list[Path]:
    return list(place.rglob("*")) if place.is_dir() and not place.is_symlink() else []


def put_in_front(root: Path, home: Path, served: Sequence[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Make the folder that stands in PYTHONPATH. Return what lies in it beside sglang, and what is kept out.

    Only these names stand in front of everything installed: a sitecustomize.py beside them does not.
    """
    root.mkdir()
    (root / "sglang").symlink_to(home / "sglang")
    there = [one for one in served if os.path.lexists(home / one["place"])]
    for one in there:
        (root / one["place"]).symlink_to(home / one["place"])
    has = {one["name"] for one in there}
    absent = sorted({one["name"] for one in served if one["elsewhere"]} - has)
    for name in absent:
        (root / f"{name}.py").write_text(ABSENT.format(name=name))
    return [one["place"] for one in there], absent


def taken_out(git: Git, folder: Path, commit: str, before: str, after: str) -> str:
    """Return a commit without the step from `before` to `after`. Refused: later ones build on it."""
    step = git(
        *("diff-tree", "-p", "--no-ext-diff", "--no-textconv", "--binary", "--full-index", "--no-renames"),
        *(before, after),
    )
    index = git.with_variables(GIT_INDEX_FILE=str(folder / "without.index"))
    index("read-tree", commit)
    try:
        index("apply", "--cached", "-R", "--whitespace=nowarn", "-p1", data=step)
    except GitFailed as failed:
        raise Refused(
            f"it cannot be taken out, later steps build on it: {shown(str(failed).replace(chr(10), '; '), 600)}",
            "what it costs is known on top of the steps before it, and not beside those behind it",
        ) from failed
    return git.text("commit-tree", index.text("write-tree"), "-p", commit, "-m", "without one step")


def leads_beside(link: Path, tree: Path) -> bool:
    """Say whether a link leads to a part of the repository that a sparse tree lacks."""
    target = os.path.normpath(link.parent / link.readlink())
    return target.startswith(f"{tree}{os.sep}") and not os.path.lexists(target)


def nothing_left(changed: list[str], found_in: list[str], argument: dict[str, Any]) -> tuple[str, str]:
    """Say why the change is no change once everything that belongs to both sides is on both."""
    required = ", ".join(shown(patch["name"]) for patch in argument["required"])
    found = f"nothing that a server imports differs: the change touches {listed(argument['touched'])}"
    rest = f"what is left is {listed(changed)}" if changed else "nothing is left of it"
    if not required:
        return f"{found}, and {rest}", "there is nothing to measure"
    within = f"; the head has {listed(found_in)} already" if found_in else ""
    return (
        f"{found}, and with the patches that the rig requires ({required}) on both sides {rest}{within}",
        "a required patch is on the base too, so it cannot be measured: take it out of server.required_patches for that",
    )


def same_as_before(base: Path, root: Path) -> None:
    """Refused: what both sides link to, or have copies of, has changed since the base was made."""
    before, now = recorded(base), recorded(root)
    changed = [
        name
        for kind in ("links", "copies")
        for name, what in now[kind].items()
        if before[kind].get(name, what) != what
    ]
    if changed:
        raise Refused(
            f"what the sides have from the checkout and no commit holds is not what it was when the base was made: {listed(changed)}",
            "leave the checkout alone while it is measured, and run the same again",
        )


def written_version(package: Path) -> str | None:
    for name in ("_version.py", "version.py"):
        path = package / name
        if path.is_symlink() or not path.is_file() or path.stat().st_size > 1 << 16:
            continue
        match = _VERSION.search(path.read_text(encoding="utf-8", errors="replace"))
        if match and not match[1].startswith("0.0.0"):
            return shown(match[1], 100)
    return None
