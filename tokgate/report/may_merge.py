"""The first thing a reader asks: may this merge? Yes, no, or this run cannot tell, each in one sentence."""

from __future__ import annotations

import shlex
from itertools import pairwise
from typing import NamedTuple

from tokgate.records import Outcome

from .conclusion import PartJudged, SessionOutcome
from .patch_report import PatchReport

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
# Where verdicts decided, and not how the session ended.
_OF_PATCH = (
    SessionOutcome.PASS,
    SessionOutcome.IMPROVED,
    SessionOutcome.REGRESSED,
    SessionOutcome.INCONCLUSIVE,
    SessionOutcome.INVALID,
    SessionOutcome.NO_BASELINE,
)
# What the gate's main job selects; NCCL tuning may come with it.
_MAIN_JOB = ("eagle3", "eagle3 or nccl", "nccl or eagle3")


class MayMerge(NamedTuple):
    word: str  # YES, NO or UNKNOWN
    why: str  # no full stop at its end

    @property
    def kind(self) -> str:
        """Return "yes", "no" or "unknown"."""
        return {YES: "yes", NO: "no"}.get(self.word, "unknown")


def may_merge(
    outcome: SessionOutcome,
    *,
    simulated: bool,
    selection: str,
    part: PartJudged | None = None,
    patch: PatchReport | None = None,
) -> MayMerge:
    """Answer for a session of this outcome. `selection`: the pytest arguments it was asked with (RunInfo.asked).

    A yes says of what: a part of the gate answers for that part, a simulated machine for no real one. Where a `part` of
    a stored run was judged again, the promises that it holds make no yes of a run that had none. A `patch` that is not
    slower than its base is not told no for what its base has lost as well.
    """
    word, why = _ANSWERS[outcome]
    if patch is not None and outcome in _OF_PATCH:
        word, why = _of_patch(outcome, patch)
    asked = part.selection if part is not None else selection
    if word == YES and (part is not None or not whole(selection)):
        why = f"{why}, of what was asked: {asked or 'a part of the gate'}"
    if word == YES and part is not None:
        word = UNKNOWN if part.run_outcome is None else _ANSWERS[part.run_outcome][0]
        why = f"{ended(part)}; {why}"
    if word == YES and simulated:
        why = f"{why}; on a simulated machine, which says nothing about a real one"
    return MayMerge(word, why)


def _of_patch(outcome: SessionOutcome, patch: PatchReport) -> tuple[str, str]:
    """Answer for a change that was measured against its base: by that first, then by whatever else was asked."""
    word, why = _ANSWERS[outcome]
    if patch.patch.outcome is None:
        return word, f"{why}; whether {patch.subject} is slower than its base was not asked"
    if patch.patch.outcome is Outcome.REGRESSED:
        return NO, f"the server is slower with {patch.subject} than without, and that is established"
    if not patch.compiles:
        return NO, f"{patch.subject} does not compile: no server would start with it"
    if patch.broken:
        return NO, f"the server does not start with {patch.subject}, and does without"
    if patch.elsewhere:
        return UNKNOWN, (
            f"{patch.subject} is not slower than its base, but the server is below what is promised with and without it: that is not "
            "the change's fault, and on such a machine a loss of it may be hidden. With -m patch it is judged alone"
        )
    told = {
        Outcome.PASS: f"{patch.subject} is not slower than its base",
        Outcome.IMPROVED: f"the server is faster with {patch.subject} than without",
    }.get(patch.patch.outcome)
    return (word, f"{told}, and {why}" if word == YES else f"{told}, but {why}") if told else (word, why)


def ended(part: PartJudged) -> str:
    """Say how the run itself ended of which a part was judged again."""
    if part.run_outcome is None:
        return "how the run itself ended cannot be read"
    return f"the run itself ended {part.run_outcome.value}"


def whole(selection: str) -> bool:
    """Say whether these pytest arguments select the gate's main job and leave nothing of it out."""
    try:
        words = shlex.split(selection)
    except ValueError:
        return False
    if "-k" in words or any("::" in word or word.endswith(".py") for word in words):
        return False
    if any(
        word.startswith("--") and word != "--pyargs" for word in words
    ):  # --deselect, --ignore, --last-failed
        return False
    return any(word == "-m" and " ".join(after.split()) in _MAIN_JOB for word, after in pairwise(words))
