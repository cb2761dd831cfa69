"""The first run of a rig: where nothing is stored of any arm, the next step is one command that stores them all."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tokgate.records import Outcome, Verdict

from .leading import BASELINE

# As the check of stored baselines says it, with RUN or the run's folder (tokgate/verdicts/baselines/no_baseline.py).
_OF_ONE_ARM = re.compile(r"(tokgate baseline update (?:'[^']*'|\S+)) --arm (?:'[^']*'|\S+)(?= --why )")


def stored_together(verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts; where every one of a stored baseline asks for its arm to be stored, each asks for the whole run.

    With an arm that has a baseline, or one that is not to be kept, each is stored by itself: `baseline update` of a run
    takes the place of what is stored of every arm in it.
    """
    mine = [v for v in verdicts if v.check == BASELINE]
    asking = [v for v in mine if v.outcome is Outcome.NO_BASELINE and _OF_ONE_ARM.search(v.do or "")]
    if len(asking) < len(mine) or any(v.outcome is Outcome.REGRESSED for v in verdicts):
        return tuple(verdicts)
    return tuple(
        v.model_copy(update={"do": _OF_ONE_ARM.sub(r"\1", v.do or "")}) if v.check == BASELINE else v
        for v in verdicts
    )
