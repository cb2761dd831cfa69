"""Patches applied in an index alone: no file is touched, and a patch cannot reach out of the tree."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

from tokgate.hosts.scripts.parts.git_calls import Git, GitFailed, Refused, shown

_FAILED = re.compile(r"^error: patch failed: (.+):(\d+)$", re.MULTILINE)
NAMED = 8


class Way(NamedTuple):
    """How a patch's names become those of the tree, and which of them those are."""

    options: tuple[str, ...]
    names: tuple[str, ...]  # in the tree, that will be changed
    outside: tuple[
        str, ...
    ]  # of the patch, that the tree does not have: tests and docs of an installed package


class Patcher:
    """Applies to trees of one repository. `prefix`: what stands before "sglang/" there, "python/" or ""."""

    def __init__(self, git: Git, folder: Path, prefix: str, *, package_only: bool) -> None:
        self.git = git.with_variables(GIT_INDEX_FILE=str(folder / "patch.index"))
        self.prefix = prefix
        self.package_only = package_only

    def apply(self, commit: str, patch: dict[str, Any], *, reverse: bool = False) -> tuple[str, Way]:
        """Return the commit with a patch on top of it, or taken out of it. Refused: it does not apply."""
        way = self.way(patch)
        self.git("read-tree", commit)
        words = ("-R",) if reverse else ()
        try:
            self._apply(way, patch, *words)
        except GitFailed as failed:
            raise self._refused(commit, patch, str(failed), reverse=reverse) from failed
        tree = self.git.text("write-tree")
        return self.git.text("commit-tree", tree, "-p", commit, "-m", "a patch"), way

    def is_in(self, commit: str, patch: dict[str, Any]) -> bool:
        """Say whether a tree has a patch already: whether it could be taken out."""
        self.git("read-tree", commit)
        try:
            self._apply(self.way(patch), patch, "-R", "--check")
        except GitFailed:
            return False
        return True

    def way(self, patch: dict[str, Any]) -> Way:
        """Find out whether the patch's names have "python/" in front, "a/" before that, or neither."""
        text = patch["text"].encode()
        found: list[str] = []
        why = ""
        for strip in (1, 0, 2):
            try:
                names = self.git.names("apply", "--numstat", "-z", f"-p{strip}", data=text)
            except GitFailed as failed:
                why = why or str(failed)
                continue
            names = [name.split("\t", 2)[-1] for name in names]
            found = found or names
            for front in dict.fromkeys((self.prefix, "python/", "")):
                if any(name.startswith(f"{front}sglang/") for name in names):
                    return self._way(names, strip, front)
        if not found:
            raise Refused(f"the patch {shown(patch['name'])} cannot be read: {why}", "write it by `git diff`")
        if self.package_only:
            listed = ", ".join(shown(name, 80) for name in found[:NAMED])
            raise Refused(
                f"the patch {shown(patch['name'])} changes nothing of the package sglang: {listed}",
                "name a patch of files below python/sglang/ or sglang/",
            )
        return Way((), tuple(found), ())

    def _way(self, names: list[str], strip: int, front: str) -> Way:
        options: list[str] = []
        inside, outside = list(names), []
        if front != self.prefix:
            # Nothing but the package has a place in a tree of another shape.
            if self.prefix.endswith(front):
                options.append(f"--directory={self.prefix[: len(self.prefix) - len(front)].rstrip('/')}")
            else:
                strip += front.count("/")
            inside = [n[len(front) :] for n in names if n.startswith(f"{front}sglang/")]
            inside = [self.prefix + n for n in inside]
            outside = [n for n in names if not n.startswith(f"{front}sglang/")]
        elif self.package_only:
            inside = [n for n in names if n.startswith(f"{front}sglang/")]
            outside = [n for n in names if not n.startswith(f"{front}sglang/")]
        if outside:
            options.append(f"--include={self.prefix}sglang/*")
        return Way((f"-p{strip}", *options), tuple(inside), tuple(outside))

    def _apply(self, way: Way, patch: dict[str, Any], *words: str) -> None:
        self.git(
            "apply", "--cached", "--whitespace=nowarn", *words, *way.options, data=patch["text"].encode()
        )

    def _refused(self, commit: str, patch: dict[str, Any], said: str, *, reverse: bool) -> Refused:
        name = shown(patch["name"])
        if not reverse and self.is_in(commit, patch):
            return Refused(
                f"the patch {name} is in what it should be applied to already",
                "leave it out; or use --instrumented beside --patch: then the base is the tree with it taken out",
            )
        what = "cannot be taken out of it, so it is not in it as it stands" if reverse else "does not apply"
        where = _FAILED.search(said)
        hunk = _hunk(patch["text"], where[1], int(where[2])) if where else None
        at = f" at {shown(where[1])}, line {where[2]}" if where else ""
        quoted = f"; its hunk there: {hunk}" if hunk else ""
        return Refused(
            f"the patch {name} {what}{at}: {shown(said.replace(chr(10), '; '), 600)}{quoted}",
            "write the patch anew against "
            + ("what is there" if reverse else "the base, and name those that it builds on before it"),
        )


def _hunk(text: str, file: str, line: int) -> str | None:
    """Return the first lines of the hunk that git could not place."""
    inside = False
    lines = text.splitlines()
    for number, one in enumerate(lines):
        if one.startswith("+++ "):
            told = one[4:].split("\t")[0].strip('"')
            inside = any(file.endswith(told.partition("/")[2] or told) for told in (told,)) or told.endswith(
                file
            )
        if inside and one.startswith("@@ ") and re.match(rf"@@ -{line}(?:,\d+)? ", one):
            piece = [shown(words, 120) for words in lines[number : number + 6]]
            return " | ".join(piece)
    return None
