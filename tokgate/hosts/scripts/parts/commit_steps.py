"""The steps from one commit to another, in the order in which they were made."""

from __future__ import annotations

from typing import Any

from tokgate.hosts.scripts.parts.git_calls import Git, Refused, shown
from tokgate.hosts.scripts.parts.looked_up import differing, unit

MOST_UNITS = 1000


def steps_of(
    git: Git, base: str, head: str, *, searched: bool
) -> tuple[list[str], list[dict[str, Any]], list[str]]:
    """Return every step from base to head, the base first, what each of them is, and notes.

    Refused: parts of it are `searched`, and the head does not lie on the base.
    """
    if base == head:
        return [base], [], []
    told = git.text(
        "rev-list", "--first-parent", "--reverse", f"--max-count={MOST_UNITS + 1}", head, f"^{base}"
    ).split()
    chain = git.try_text("rev-parse", "--verify", "--quiet", f"{told[0]}^1") == base if told else False
    if not chain or len(told) > MOST_UNITS:
        note = apart(git, base, head, many=len(told) > MOST_UNITS, searched=searched)
        files = differing(git, base, head)
        name = f"{head[:10]} and what it has that {base[:10]} has not"
        return [base, head], [unit(name, "commit", head, files)], [note]
    units = []
    for one in told:
        name = shown(git.text("log", "-1", "--format=%s", one), 100)
        units.append(unit(f"{one[:10]} {name}", "commit", one, differing(git, f"{one}^1", one)))
    return [base, *told], units, []


def apart(git: Git, base: str, head: str, *, many: bool, searched: bool) -> str:
    """Say what is special where the head cannot be reached step by step from the base."""
    if many:
        found = f"more than {MOST_UNITS} commits lie between base and head"
        do = "name a base that is nearer"
    else:
        fork = git.try_text("merge-base", base, head)
        lacks = git.text("rev-list", "--count", base, f"^{head}")
        found = (
            f"the head does not lie on the base: the base has {lacks} commits that the head has not"
            if lacks != "0"
            else "the base came into the head by a merge: their first parents do not meet"
        )
        do = (
            f"--base {fork[:12]}, where they part, measures the head's own changes alone"
            if fork
            else "name related commits"
        )
    if searched:
        raise Refused(f"{found}, so that there is no order of steps to search", do)
    return f"{found}; {do}"
