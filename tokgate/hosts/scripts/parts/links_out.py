"""Links of a tree that lead out of it: what lies there is in no commit, and the same for both sides whatever they are."""

from __future__ import annotations

import itertools
import os
import posixpath
from collections.abc import Iterable, Sequence
from pathlib import Path

from tokgate.hosts.scripts.parts.git_calls import Git, Refused, shown

MOST_TARGET = 4096  # PATH_MAX of Linux, with its end
NAMED = 5
LOOKED_AT = 1000  # entries of a folder that a link leads to


def links_out(git: Git, commit: str, prefix: str, places: Iterable[str]) -> dict[str, str]:
    """Return the links below these places that are absolute or lead above the repository: name -> target."""
    ids = {}
    where = [f"{prefix}{place}" for place in places]
    for row in git.names("ls-tree", "-r", "-l", "-z", "--full-tree", commit, "--", *where):
        facts, _, name = row.partition("\t")
        mode, _, identifier, size = facts.split()
        if mode == "120000" and size.isdecimal() and int(size) <= MOST_TARGET:
            ids[name] = identifier
    targets = _contents(git, ids.values())
    return {name: targets[one] for name, one in ids.items() if leads_out(name, targets[one])}


def _contents(git: Git, ids: Iterable[str]) -> dict[str, str]:
    wanted = list(dict.fromkeys(ids))
    raw = git("cat-file", "--batch", data="".join(f"{one}\n" for one in wanted).encode()) if wanted else b""
    found = {}
    for one in wanted:
        head, _, raw = raw.partition(b"\n")
        size = int(head.split()[2])
        found[one], raw = os.fsdecode(raw[:size]), raw[size + 1 :]
    return found


def leads_out(name: str, target: str) -> bool:
    """Say whether a link leads out of the repository. An absolute one always does: the side lies elsewhere than the checkout."""
    if target.startswith("/"):
        return True
    return posixpath.normpath(posixpath.join(posixpath.dirname(name), target)).split("/")[0] == ".."


def check_links(
    git: Git, ends: Sequence[str], prefix: str, places: Sequence[str], top: Path | None
) -> list[str]:
    """Return a note on links out of the trees of base and head. Refused: the change itself lies behind one.

    `ends`: the commits of both; `top`: where the checkout lies. A link that both have, to the same place, is the same for either.
    """
    before, after = (links_out(git, one, prefix, places) for one in ends)
    tops = {f"{prefix}{place}" for place in places}
    both = {**before, **after}
    bad = [
        name
        for name, target in sorted(both.items())
        if name in tops or (before.get(name) != after.get(name) and _of_sources(name, target, top))
    ]
    if bad:
        raise Refused(
            f"links out of the tree stand for sources: {_told(bad, both)}. What lies there belongs to neither side, and whoever "
            "writes it changes both",
            "put the files themselves in the link's place",
        )
    if not both:
        return []
    return [
        f"links out of the tree, whose targets are neither copied nor hashed: {_told(sorted(both), both)}"
    ]


def _of_sources(name: str, target: str, top: Path | None) -> bool:
    """Say whether Python would be read through a link: a module's name, or a folder that has one."""
    if name.endswith(".py") or target.endswith(".py"):
        return True
    if top is None and not target.startswith("/"):
        return False
    folder = Path(os.path.normpath(((top or Path("/")) / name).parent / target))
    try:
        with os.scandir(folder) as entries:
            return any(entry.name.endswith(".py") for entry in itertools.islice(entries, LOOKED_AT))
    except OSError:
        return False


def _told(names: Sequence[str], targets: dict[str, str]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(f"{shown(name)} -> {shown(targets[name])}" for name in names[:NAMED]) + more
