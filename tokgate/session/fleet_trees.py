"""The sides of a change on a pool: every host makes them itself, and only hosts that have made the same trees measure.

What a change costs on one host may stand beside what it costs on another only where both ran the same sources. The hash over all
that Python imports says so, whatever commits, branches and working trees were called.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable
from pathlib import PurePosixPath

from tokgate.errors import SideFault
from tokgate.records.fleet import Fleet, SideTree
from tokgate.records.side import SidesMade
from tokgate.rig.sides import SidesSpec
from tokgate.verdicts.side_words import listed, side_words

from .fleet_board import Board

_POLL_S = 0.5
# For hosts that are still making theirs: twice what making both sides of a large checkout may take (hosts/sides.py).
_WAIT_S = 1800.0
_DIGITS = 12
_MOST_CARRIED = 200  # names kept of each side: they stand in every report


def trees_of(made: SidesMade | None) -> tuple[SideTree, ...]:
    """Return the trees of base and head, or of the head alone where the rig only requires patches; () without sides."""
    return tuple(
        SideTree(
            name=state.name,
            tree=state.tree,
            words=side_words(state, state.name),
            commit=state.commit,
            dirty=state.dirty,
            carried=state.carried[:_MOST_CARRIED],
        )
        for state in (made.sides if made is not None else ())
    )


def agree(
    board: Board,
    number: int,
    made: SidesMade | None,
    *,
    spec: SidesSpec | None,
    pause: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Return when the trees of a shift are those of the fleet; at once where there are none.

    Which those are is settled when every host that began has made its own. SideFault: this host has others.
    """
    mine = trees_of(made)
    if not mine or made is None:
        return
    board.show_trees(number, mine)
    limit = clock() + _WAIT_S
    while (fleet := board.agreed_trees(now=clock() >= limit)) is None:
        pause(_POLL_S)
    differing = [(own, theirs) for own, theirs in _paired(mine, fleet) if own.tree != theirs.tree]
    if differing:
        own, theirs = differing[0]
        raise SideFault(
            tried="to measure the same change as the other hosts",
            found=f"its trees of SGLang are not theirs: {_apart(own, theirs, ', '.join(fleet.trees_of))}",
            do=_mend(own, made.sides[0].source, spec),
        )


def _paired(mine: tuple[SideTree, ...], fleet: Fleet) -> list[tuple[SideTree, SideTree]]:
    theirs = {tree.name: tree for tree in fleet.trees}
    return [(own, theirs[own.name]) for own in mine if own.name in theirs]


def _apart(own: SideTree, theirs: SideTree, where: str) -> str:
    """Say what is known of why two trees are not one: the commit, what is not committed, what was carried over, else contents."""
    if own.commit != theirs.commit:
        return f"{own.words} there, and {theirs.words} on {where}"
    if own.dirty != theirs.dirty:
        return f"{own.words}: what is not committed is something else than on {where}"
    told = f"{own.words} has the tree {own.tree[:_DIGITS]}, and {theirs.tree[:_DIGITS]} on {where}"
    only = sorted({*own.carried} ^ {*theirs.carried})
    if only and max(len(own.carried), len(theirs.carried)) < _MOST_CARRIED:
        return f"{told}; files that no commit holds are on one of them alone: {listed(only)}"
    if own.commit is None:
        return f"{told}: the installed packages have different files"
    carried = [PurePosixPath(name).name for name in own.carried]
    return f"{told}, at the same commit: files that no commit holds differ ({listed(carried) or 'none is known'})"


def _mend(own: SideTree, source: str, spec: SidesSpec | None) -> str:
    look = (
        "which files differ tells, on both hosts: "
        f"cd {shlex.quote(source)} && find . -type f ! -name '*.pyc' ! -path './.git/*' -exec sha256sum {{}} + | sort -k 2"
    )
    if own.commit is None:
        return f"install the same package on every host; {look}"
    named = spec is not None and bool(spec.head or spec.patches)
    what = "the same commits" if named else "the same commits and the same working tree"
    return f"bring {what} to {source} on every host, with the same built files beside them; {look}"
