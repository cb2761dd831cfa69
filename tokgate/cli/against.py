"""The checkout of another revision beside the working tree: what a change loosens besides its baselines."""

from __future__ import annotations

import io
import json
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokgate.cli.branch_point import Base, branch_point
from tokgate.cli.git import git
from tokgate.errors import GateError, UsageError
from tokgate.report.proposal_md import Loose
from tokgate.rig.limits import Floor
from tokgate.rig.load import load_rig
from tokgate.rig.loosened import loosened
from tokgate.rig.models import Rig
from tokgate.verdicts.metrics import METRICS

# What judges, what measures and reads what is judged, and what says which of it runs at all.
_JUDGES = ("perf_tests", "fixtures", "conftest.py", "pyproject.toml", "tokgate")
_MOST_FILES = 8


def against(root: Path, revision: str | None, rig: Rig) -> Loose:
    """Compare rigs/NAME.toml and baselines/NAME of the working tree below `root` with a git revision's.

    None: with where the branch left the default branch, so that what it has committed counts. UsageError where the
    revision is none; a folder outside git is only said to be unknown.
    """
    base = branch_point(root) if revision is None else _named(root, revision, rig)
    if base is None:
        return Loose(revision=revision, unknown=f"{root} is no git checkout with a commit")
    commit = base.commit
    before: Rig | None = None
    unknown = None
    try:
        before, now = _rig_of(root, commit, rig.name), load_rig(rig.name, root=root)
    except GateError as error:
        now, unknown = rig, f"the rig {rig.name} cannot be read: {error.found}"
    if before is None and unknown is None:
        unknown = f"there is no rigs/{rig.name}.toml at {base.words}"
    floors = {m.name: Floor(relative=m.relative_floor, absolute=m.absolute_floor) for m in METRICS.values()}
    found = [one.words for one in loosened(before, now, floors)] if before is not None else []
    # What the run was judged by may be looser than the file: --rig-set.
    found += [f"{one.words} (in the run that is stored)" for one in loosened(now, rig, floors)]
    return Loose(
        revision=f"{base.words} ({commit[:10]})",
        narrow=base.narrow,
        limits=tuple(found),
        baselines=tuple(_forgotten(root, commit, rig.name)),
        code=_code(root, commit),
        unknown=unknown,
    )


def _named(root: Path, revision: str, rig: Rig) -> Base | None:
    """Return the revision that was asked for; None outside of git."""
    if revision.startswith("-"):
        raise UsageError(
            tried=f"comparing with {revision!r}", found="that names no revision", do="use HEAD, say"
        )
    told = git(root, "rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
    if told is not None:
        return Base(told.decode().strip(), revision)
    if git(root, "rev-parse", "--git-dir") is None:
        return None
    raise UsageError(
        tried=f"comparing the limits of {rig.name} with {revision}",
        found="git knows no such commit",
        do="name a commit, a branch or a tag: --against HEAD",
    )


def _rig_of(root: Path, commit: str, name: str) -> Rig | None:
    """Read the rig as it was, with the files that it names."""
    if git(root, "cat-file", "-e", f"{commit}:rigs/{name}.toml") is None:
        return None
    packed = git(root, "archive", commit, "rigs")
    if packed is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(folder, filter="data")
        return load_rig(name, root=Path(folder))


def _forgotten(root: Path, commit: str, rig: str) -> Iterator[str]:
    """Yield the baselines whose anchor or accepted losses the working tree no longer has as they were."""
    listed = git(root, "ls-tree", "--name-only", commit, f"baselines/{rig}/")
    for name in (listed or b"").decode("utf-8", "replace").splitlines():
        if not name.endswith(".json"):
            continue
        before = _ledger(git(root, "show", f"{commit}:{name}"))
        try:
            now = _ledger((root / name).read_bytes())
        except OSError:
            yield f"{name} is gone, and with it its anchor and what was accepted since"
            continue
        if before is None or now is None:
            continue  # a damaged one is an error of its own
        if before[0] and before[0] != {key: now[0].get(key) for key in before[0]}:
            yield f"{name}: its anchor is another one"
        if before[1] != now[1][: len(before[1])]:
            yield f"{name}: what was accepted since the anchor is not what it was"


def _ledger(content: bytes | None) -> tuple[dict[str, Any], list[Any]] | None:
    try:
        found = json.loads(content or b"")
        anchor, accepted = found.get("anchor", {}), found.get("accepted", [])
    except (ValueError, AttributeError, RecursionError):
        return None
    return (anchor, accepted) if isinstance(anchor, dict) and isinstance(accepted, list) else None


def _code(root: Path, commit: str) -> tuple[str, ...]:
    """Return the files that judge and are not as in the commit, those that git does not know yet among them."""
    changed = git(root, "diff", "--name-only", "--no-relative", commit, "--", *_JUDGES)
    new = git(root, "ls-files", "--others", "--exclude-standard", "--full-name", "--", *_JUDGES)
    told = (text.decode("utf-8", "replace").splitlines() for text in (changed or b"", new or b""))
    names = sorted({name for lines in told for name in lines})
    if len(names) > _MOST_FILES:
        return (*names[:_MOST_FILES], f"and {len(names) - _MOST_FILES} more")
    return tuple(names)
