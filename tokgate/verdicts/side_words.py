"""The sides of a change in words: what was measured against what, and what each tree was made of."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records.side import BASE, HEAD, SidesMade, SideState, Unit
from tokgate.rig.sides import SidesSpec

_SHORT = 10  # digits of a commit
_MOST = 4  # units or files that are named one by one

# Who the change is, as a headline begins.
SUBJECTS = {"patch": "the change", "instrumented": "what is changed in your tree", "culprit": "the change"}


def subject_words(spec: SidesSpec | None) -> str:
    return SUBJECTS[spec.question] if spec is not None else SUBJECTS["patch"]


def side_words(state: SideState | None, name: str) -> str:
    """Return "base main (1a2b3c4d5e)", "head 1a2b3c4d5e, with what is not committed", "head, the base with 2 patches"."""
    if state is None:
        return name
    told = name
    commit = state.commit[:_SHORT] if state.commit is not None else None
    if state.ref is not None and commit is not None:
        told += f" {state.ref}" if commit.startswith(state.ref) else f" {state.ref} ({commit})"
    elif commit is not None:
        told += f" {commit}"
    if state.dirty is not None:
        told += ", with what is not committed"
    patches = sum(unit.kind == "patch" for unit in state.units)
    if patches and name != BASE:
        told += f", with {_many(patches, 'patch', 'patches')}"
    if state.commit is None and not state.units:
        told += " as installed"
    return told


def units_words(units: Sequence[Unit]) -> str:
    """Return the steps of a change, "2 commits: …, …"."""
    if not units:
        return "no step that is known"
    kinds = {unit.kind for unit in units}
    kind = kinds.pop() if len(kinds) == 1 else "step"
    what = {"commit": "commits", "patch": "patches", "step": "steps"}.get(kind, kind)
    if len(units) == 1:
        return units[0].name
    return f"{len(units)} {what}: {listed([unit.name for unit in units])}"


def listed(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - _MOST
    told = ", ".join(names[:_MOST])
    return f"{told} and {more} more" if more > 0 else told


def changed_words(made: SidesMade | None) -> str | None:
    """Return what a change is and which files it touches, "the change: verify-2.patch, in python/sglang/…/eagle_worker_v2.py"."""
    head = made.side(HEAD) if made is not None else None
    if made is None or head is None or not (made.units or head.changed):
        return None
    told = f"the change: {units_words(made.units)}"
    return f"{told}, in {listed(head.changed)}" if head.changed else told


def labels(made: SidesMade | None) -> tuple[str, str]:
    """Return head and base in words."""
    found = made or SidesMade()
    return side_words(found.side(HEAD), HEAD), side_words(found.side(BASE), BASE)


def unmerged(made: SidesMade | None) -> bool:
    """Say whether the head holds what no commit has: a dirty tree, or patches."""
    head = made.side(HEAD) if made is not None else None
    return head is not None and (
        head.dirty is not None or any(unit.kind != "commit" for unit in (*head.units, *head.required))
    )


def _many(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"
