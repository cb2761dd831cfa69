"""git on a host, called so that it runs nothing of a foreign repository and writes nothing into it.

A repository's own config can name programs: hooks, fsmonitor, pagers, filters, diff drivers, remote helpers. So the
trees are made in a repository of the gate's own, which borrows the foreign one's objects and none of its config; of
the foreign one itself only what reads names and commits is asked, with those keys overridden all the same.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

OLDEST_GIT = (2, 32)  # the first that takes its whole config from GIT_CONFIG_GLOBAL
LIMIT_S = 300.0
SAID = 2000  # characters of git's own words that are quoted

# Command line scope, above every file: a repository cannot set them back.
_OVERRIDES: tuple[tuple[str, str], ...] = (
    ("safe.directory", "*"),  # a checkout often belongs to another user
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.untrackedCache", "false"),
    ("core.pager", "cat"),
    ("core.editor", "false"),
    ("core.askPass", "false"),
    ("core.sshCommand", "false"),
    ("core.gitProxy", "false"),
    ("credential.helper", ""),
    ("diff.external", ""),
    ("log.showSignature", "false"),  # would ask gpg.program
    ("gpg.program", "false"),
    ("gpg.ssh.program", "false"),
    ("gpg.x509.program", "false"),
    ("core.alternateRefsCommand", "false"),
    ("protocol.allow", "never"),  # a partial clone would fetch what it lacks
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("submodule.recurse", "false"),
    ("core.autocrlf", "false"),
    ("core.quotePath", "false"),
    ("core.attributesFile", "/dev/null"),
)
# Older gits know no variables for them.
_SETTINGS = tuple(word for key, value in _OVERRIDES for word in ("-c", f"{key}={value}"))


class Refused(Exception):  # noqa: N818 - it is an answer, not a defect
    """Why a side cannot be made, or would say nothing: what was found, what to do."""

    def __init__(self, found: str, do: str) -> None:
        super().__init__(found)
        self.found, self.do = found, do


class GitFailed(Exception):  # noqa: N818
    """git's own words."""


def environment(home: Path) -> dict[str, str]:
    """Return the whole environment of every git: nothing of the login's but where programs are."""
    found = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_LITERAL_PATHSPECS": "1",
        "GIT_PAGER": "cat",
    }
    for who in ("AUTHOR", "COMMITTER"):
        found.update(
            {f"GIT_{who}_NAME": "tokgate", f"GIT_{who}_EMAIL": "tokgate", f"GIT_{who}_DATE": "@0 +0000"}
        )
    return found


class Git:
    """Calls in one repository. `home`: a folder that git runs in; it reads no config there."""

    def __init__(self, home: Path, *where: str, more: Mapping[str, str] | None = None) -> None:
        """`where`: options in front of the command, e.g. "--git-dir", PATH."""
        self.home = home
        self.where = where
        self.more = dict(more or {})

    def with_variables(self, **more: str) -> Git:
        return Git(self.home, *self.where, more={**self.more, **more})

    def __call__(self, *arguments: str, data: bytes | IO[bytes] = b"") -> bytes:
        """Return what git writes. GitFailed: it ended with another status than 0, or not at all."""
        fed: dict[str, Any] = {"input": data} if isinstance(data, bytes) else {"stdin": data}
        try:
            done = subprocess.run(
                ["git", "--no-pager", *_SETTINGS, *self.where, *arguments],
                env={**environment(self.home), **self.more},
                **fed,
                capture_output=True,
                cwd=str(self.home),
                timeout=LIMIT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise GitFailed(f"git {arguments[0]} was not done after {LIMIT_S:g} s") from late
        if done.returncode != 0:
            words = done.stderr.decode("utf-8", "backslashreplace").strip()
            raise GitFailed(words[-SAID:] or f"git {arguments[0]} ended with {done.returncode}")
        return bytes(done.stdout)

    def text(self, *arguments: str) -> str:
        return self(*arguments).decode("utf-8", "surrogateescape").rstrip("\n")

    def names(self, *arguments: str, data: bytes = b"") -> list[str]:
        """Return what git writes with -z; names that are no UTF-8 carry surrogates, as those of Python's own calls."""
        return [os.fsdecode(piece) for piece in self(*arguments, data=data).split(b"\0") if piece]

    def try_text(self, *arguments: str) -> str | None:
        try:
            return self.text(*arguments)
        except GitFailed:
            return None


def check_version(home: Path) -> None:
    """Refused: there is no git, or one too old to be told to leave a repository's config alone."""
    wanted = ".".join(map(str, OLDEST_GIT))
    try:
        told = Git(home).text("version")
    except OSError as error:
        raise Refused(
            f"no git on the host ({error.strerror})", f"install git {wanted} or newer there"
        ) from error
    found = re.search(r"(\d+)\.(\d+)", told)
    if not found or (int(found[1]), int(found[2])) < OLDEST_GIT:
        raise Refused(
            f"{told or 'a git that tells no version'} on the host", f"install git {wanted} or newer there"
        )


def shown(name: str, most: int = 300) -> str:
    """Return a foreign name as a report may have it: no control characters, bounded, JSON's own characters."""
    text = name.encode("utf-8", "backslashreplace").decode()
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return text if len(text) <= most else text[:most] + "…"
