"""The first thing a reader asks: may this merge? Yes, no, or this run cannot tell, each in one sentence."""

from __future__ import annotations

import shlex
from itertools import pairwise
from typing import NamedTuple

from .conclusion import SessionOutcome

YES, NO, UNKNOWN = "Yes", "No", "Cannot tell"

_KEPT = "every promise was kept"
_ANSWERS = {
    SessionOutcome.PASS: (YES, _KEPT),
    SessionOutcome.IMPROVED: (YES, f"{_KEPT}, and something has become better"),
    SessionOutcome.REGRESSED: (NO, "it is worse than allowed, and that is established"),
    SessionOutcome.INCONCLUSIVE: (UNKNOWN, "this run could not see enough"),
    SessionOutcome.INVALID: (UNKNOWN, "the bench is at fault, not the code: nothing was shown of the change"),
    SessionOutcome.NO_BASELINE: (UNKNOWN, "nothing is stored to compare with"),
    SessionOutcome.ERROR: (UNKNOWN, "a test failed and no verdict says why"),
    SessionOutcome.INTERRUPTED: (UNKNOWN, "the session was interrupted before its end"),
}
# What the gate's main job selects; NCCL tuning may come with it.
_MAIN_JOB = ("eagle3", "eagle3 or nccl", "nccl or eagle3")


class MayMerge(NamedTuple):
    word: str  # YES, NO or UNKNOWN
    why: str  # no full stop at its end

    @property
    def kind(self) -> str:
        """Return "yes", "no" or "unknown"."""
        return {YES: "yes", NO: "no"}.get(self.word, "unknown")


def may_merge(outcome: SessionOutcome, *, simulated: bool, selection: str) -> MayMerge:
    """Answer for a session of this outcome. `selection`: the pytest arguments it was asked with (RunInfo.selection).

    A yes says of what: a part of the gate answers for that part, a simulated machine for no real one.
    """
    word, why = _ANSWERS[outcome]
    if word == YES and not whole(selection):
        why = f"{why}, of what was asked: {selection or 'a part of the gate'}"
    if word == YES and simulated:
        why = f"{why}; on a simulated machine, which says nothing about a real one"
    return MayMerge(word, why)


def whole(selection: str) -> bool:
    """Say whether these pytest arguments select the gate's main job and leave nothing of it out."""
    try:
        words = shlex.split(selection)
    except ValueError:
        return False
    if "-k" in words or any("::" in word or word.endswith(".py") for word in words):
        return False
    return any(word == "-m" and " ".join(after.split()) in _MAIN_JOB for word, after in pairwise(words))
