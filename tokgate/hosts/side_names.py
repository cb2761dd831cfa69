"""Which commits a change's sides are, in words, asked before a session begins. UsageError: a name is none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tokgate.errors import UsageError
from tokgate.hosts.connection import Host
from tokgate.hosts.fingerprint import with_servers_python
from tokgate.hosts.scripts import source
from tokgate.rig.models import Rig
from tokgate.rig.sides import SidesSpec

LIMIT_S = 120.0  # every file of the working tree is read, from a cold disk perhaps
_DIGITS = 10


def named(host: Host, rig: Rig) -> tuple[str, ...]:
    """Return a line for each side: its commit, with date and subject, and whether the tree has more than that.

    () for an installed package, which has no commits, and where nobody knows yet which checkout is meant. Nothing is made and
    no lease is needed. UsageError: a name, or the repository, is none. HostFault: the host cannot be asked.
    """
    spec = rig.sides
    if spec is None:
        return ()
    tree = not (spec.head or spec.patches) or spec.applied
    package = None
    if spec.repository is None:
        if not (spec.base or (spec.question == "instrumented" and not spec.patches)):
            return ()
        package = with_servers_python(host, rig, "sglang_place", {"resolve": True})["package"]
        if package is None:
            return ()  # the rig's fault, and the session's to tell
    argument = {
        "repository": spec.repository,
        "package": package,
        "base": spec.base,
        "head": spec.head,
        "tree": tree,
    }
    told: dict[str, Any] = host.run_python(
        source("side_names"), argument, timeout_s=LIMIT_S, name="reader of the sides' names"
    )
    if "refused" in told:
        raise UsageError(tried=f"read which sides of SGLang to compare, on {host.name}", **told["refused"])
    return tuple(_lines(spec, told))


def _lines(spec: SidesSpec, told: dict[str, Any]) -> Iterator[str]:
    tree, base, patches = told["tree"], told["base"], len(spec.patches)
    if base is not None:
        yield f"base: {_commit(spec.base, base)}"
    elif not spec.applied:
        yield f"base: {_commit(None, tree)}, the commit that the working tree lies on"
    if spec.head:
        yield f"head: {_commit(spec.head, told['head'])}"
    elif patches and not spec.applied:
        yield f"head: the base with {patches} patch{'' if patches == 1 else 'es'}"
    else:
        files = tree["files"]
        lies = _commit(None, tree) if base is not None or spec.applied else "that"
        dirty = (
            "how much is uncommitted could not be told" if files is None else f"{_files(files)} uncommitted"
        )
        yield f"head: the working tree, on {lies}, {dirty}"
        return
    if tree is not None and tree["files"]:
        yield f"the working tree has {_files(tree['files'])} uncommitted, on neither side"


def _commit(ref: str | None, told: dict[str, Any]) -> str:
    short = told["commit"][:_DIGITS]
    is_it = f"{ref} is " if ref is not None and not told["commit"].startswith(ref) else ""
    return f"{is_it}{short} of {told['date']}, {told['subject']}"


def _files(count: int) -> str:
    return "nothing" if count == 0 else f"{count} file{'' if count == 1 else 's'}"
