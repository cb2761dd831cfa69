"""What a change since a stored baseline is made of, as far as timed launches know, and where that leads.

What the phases did is told by the report.
"""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.stats.log_shares import ACCEPTANCE, Decomposition
from tokgate.verdicts.cycle_side import side_of_baseline, side_of_timed
from tokgate.verdicts.establish import Established
from tokgate.verdicts.metrics import Metric
from tokgate.verdicts.split import Split, split_change

from .file import BaselineFile

SPLIT = "decode_tok_s"  # the speed that accept length and cycle make
_MOST = 0.75  # of the whole change: the other of the two has as good as none of it


def shares(established: Sequence[Established], baseline: BaselineFile, metric: Metric) -> tuple[str, ...]:
    """Return a line on acceptance and cycle for the metric that they make, nothing for another."""
    if metric.name != SPLIT:
        return ()
    found = _timed_split(established, baseline)
    return (found.text(),) if found is not None else ()


def after_a_loss(established: Sequence[Established], baseline: BaselineFile, *, differs: bool) -> str:
    """Say where a loss leads that no fact of machine or tree explains; of every metric of a workload the same."""
    look = (
        "see what differs from the baseline, listed with this verdict"
        if differs
        else "nothing on record differs from the baseline: 'Likely causes' in the report say what of clocks, heat and "
        "other load was looked at, and what is excluded"
    )
    split = _timed_split(established, baseline)
    if split is None or split.whole is None or split.whole.log >= 0:
        return look
    of_acceptance = next((s.log for s in split.shares if s.name == ACCEPTANCE), 0.0) / split.whole.log
    if of_acceptance >= _MOST:
        return f"acceptance has moved, not the cycle: look at the draft model; {look}"
    what = (
        "the cycle has moved, not acceptance"
        if of_acceptance <= 1 - _MOST
        else "acceptance and the cycle have moved"
    )
    which = (
        "which phase, tells 'Since the stored baseline' in the report"
        if baseline.phases
        else "which phase, is not stored; today's stand in 'Phases of a cycle'"
    )
    return f"{what}: {which}; {look}"


def _timed_split(established: Sequence[Established], baseline: BaselineFile) -> Decomposition | None:
    launch, before = established[0].launch.launch, side_of_baseline(baseline)
    if not before.speculates:
        return None
    found = split_change(
        launch.arm, established[0].workload, before, side_of_timed(launch.id, tuple(established))
    )
    return found.split if isinstance(found, Split) else None
