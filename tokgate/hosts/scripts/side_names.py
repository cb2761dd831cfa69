"""Which commits the names of a change's sides are, before anything is made of them: a mistyped one is told at once.

Nothing is written but into a folder of its own, which is gone when it has answered.
"""

from __future__ import annotations

import difflib
import re
import tempfile
from pathlib import Path
from typing import Any

from tokgate.hosts.scripts.parts.git_calls import Git, GitFailed, Refused, check_version, shown
from tokgate.hosts.scripts.parts.looked_up import differing, prefix_of, resolve
from tokgate.hosts.scripts.parts.own_repository import borrow, foreign, top_of
from tokgate.hosts.scripts.parts.working_tree import take

NAMED = 5
_HEX = re.compile(r"[0-9a-f]{4,64}")


def main(argument: dict[str, Any]) -> dict[str, Any]:
    """{"repository", "package", "base", "head", "tree"} -> {"base", "head": {"commit", "date", "subject"}, "tree": and "files"}.

    `package`: what the server's Python imports, where no repository is named. `tree`: whether the working tree is one of the sides. Its "files" are how many differ from its commit; null: nobody
    looked, as it lies on neither side. {"refused": {"found", "do"}} where a name is none.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        try:
            check_version(folder)
            return names(folder, argument)
        except Refused as refused:
            return {"refused": {"found": refused.found, "do": refused.do}}


def names(folder: Path, argument: dict[str, Any]) -> dict[str, Any]:
    repository = argument["repository"] or checkout_of(folder, argument["package"])
    theirs = foreign(folder, repository)
    found: dict[str, Any] = {"base": None, "head": None, "tree": None}
    for side in ("base", "head"):
        if argument[side] is not None:
            found[side] = told(theirs, meant(theirs, argument[side], repository))
    top = top_of(theirs, repository)
    if argument["tree"] or found["base"] is None:
        lies_on = resolve(theirs, "HEAD", repository)
        found["tree"] = told(theirs, lies_on)
    else:
        lies_on = theirs.try_text("rev-parse", "--verify", "--quiet", "HEAD^{commit}") or ""
        if found["head"] is not None and found["head"]["commit"] == lies_on:
            found["tree"] = dict(found["head"])
    if argument["tree"] and not top:
        raise Refused(f"{repository} is bare: it has no working tree", "name the change: --head REF")
    if found["tree"] is not None:
        found["tree"]["files"] = uncommitted(folder, theirs, top, lies_on) if top else None
    ends = [one["commit"] for one in (found["base"], found["head"]) if one is not None]
    for commit in ends or [lies_on]:
        prefix_of(theirs, commit, repository)
    return found


def checkout_of(folder: Path, package: str) -> str:
    """Return the folder of a package that is a checkout's own; one that only lies in somebody's repository is none."""
    if Git(folder, "-C", package).try_text("ls-files", "--error-unmatch", "__init__.py") is None:
        raise Refused(
            f"the SGLang that server.python imports, {package}, is an installed package and no checkout",
            "name one: --sglang-repo PATH; or name the change as --patch FILE",
        )
    return package


def meant(theirs: Git, name: str, repository: str) -> str:
    """Return the commit of a name. Refused: there is none, with the names that look like it, or there are several."""
    try:
        commit = resolve(theirs, name, repository)
    except Refused as refused:
        raise Refused(one_line(refused.found), advice(theirs, name, refused)) from refused
    first = re.split(r"[~^:]|@\{", name, maxsplit=1)[0]
    if _HEX.fullmatch(first) and not commit.startswith(first):
        others = [
            one
            for one in theirs.text("rev-parse", f"--disambiguate={first}").split()
            if is_commit(theirs, one)
        ]
        if others and first == name:
            raise Refused(
                f"{name!r} is ambiguous in {repository}: a branch or tag of that name ({commit[:12]}), and the commit {others[0][:12]}",
                "write the one that is meant in full: refs/heads/NAME, or all digits of the commit",
            )
    return commit


def advice(theirs: Git, name: str, refused: Refused) -> str:
    if "short object ID" in refused.found:
        return "write more digits of the one that is meant"
    near = alike(theirs, name)
    return (
        f"there {'is' if len(near) == 1 else 'are'} {', '.join(near)}; else {refused.do}"
        if near
        else refused.do
    )


def alike(theirs: Git, name: str) -> list[str]:
    """Return the branches and tags that look like a name, the nearest first."""
    known = (
        theirs.try_text(
            "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes"
        )
        or ""
    ).split("\n")
    lowered = {one.lower(): one for one in known if one}
    near = difflib.get_close_matches(name.lower(), list(lowered), n=NAMED)
    # origin/fix for fix: what has only been fetched.
    near += [low for low in lowered if low.rpartition("/")[2] == name.lower() and low not in near]
    return [shown(lowered[low], 100) for low in near[:NAMED]]


def one_line(words: str) -> str:
    """Return git's words, candidates of a short commit among them, in one line."""
    lines = [re.sub(r"^(hint|error|fatal):\s*", "", line.strip()) for line in words.splitlines()]
    return "; ".join(line for line in lines if line)


def is_commit(theirs: Git, identifier: str) -> bool:
    return theirs.try_text("cat-file", "-t", identifier) == "commit"


def told(theirs: Git, commit: str) -> dict[str, Any]:
    date, _, subject = theirs.text("log", "-1", "--format=%cs %s", commit).partition(" ")
    return {"commit": commit, "date": date, "subject": shown(subject, 100)}


def uncommitted(folder: Path, theirs: Git, top: Path, lies_on: str) -> int | None:
    """Return how many files of the working tree differ from its commit; None: that cannot be told here."""
    try:
        git = borrow(folder, theirs)
        taken = take(git, theirs, top, lies_on, prefix_of(git, lies_on, str(top)))
        return len(differing(git, lies_on, taken.commit)) if taken.tree else 0
    except (Refused, GitFailed, OSError):
        return None
