"""What a user's own changes cost, in words for that question: may numbers that were taken with them be quoted."""

from __future__ import annotations

from tokgate.records import Outcome
from tokgate.records.side import HEAD, SidesMade
from tokgate.stats.decision import Decision


def headline(decision: Decision, made: SidesMade | None, measured: str, where: str = "") -> str:
    """Return the answer in front of what was measured. What is undecided stays as it is.

    `where`: ", verify +0.13 ms of the +0.13 ms a cycle" of a loss of which that is known.
    """
    subject, plural = subject_of(made)
    costs, them = ("cost", "them") if plural else ("costs", "it")
    low, high = sorted(-end for end in decision.interval)
    size = f"{abs(decision.loss) * 100:.1f} %"
    if decision.outcome is Outcome.REGRESSED:
        span = f"[{low * 100:.1f}, {high * 100:.1f}]"
        return f"{subject} {costs} {size} {span}{where}; numbers taken with {them} are not the server's: {measured}"
    if decision.outcome is Outcome.IMPROVED:
        speeds = "speed" if plural else "speeds"
        return f"{subject} {speeds} the server up by {size}; numbers taken with {them} are not the server's: {measured}"
    if decision.outcome is Outcome.PASS:
        most = f", {decision.high:.1%} at most" if decision.high > 0 else ""
        return (
            f"{subject} {costs} nothing worth calling{most}; numbers taken with {them} are the server's as far as that: "
            f"{measured}"
        )
    return measured


def subject_of(made: SidesMade | None) -> tuple[str, bool]:
    """Return "your 4 changed files" or "your 2 patches (3 files)", and whether that is several."""
    head = made.side(HEAD) if made is not None else None
    if made is None or head is None:
        return "what you changed", False
    files = len(head.changed) or len({file for unit in made.units for file in unit.files})
    patches = sum(unit.kind == "patch" for unit in made.units)
    if patches:
        return f"your {_many(patches, 'patch', 'patches')} ({_many(files, '1 file', 'files')})", patches > 1
    return f"your {_many(files, 'changed file', 'changed files')}", files > 1


def _many(number: int, one: str, several: str) -> str:
    return one if number == 1 else f"{number} {several}"
