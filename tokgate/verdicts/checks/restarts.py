"""Promise: nothing in the server runs of an arm speaks for two modes, and what they differ by is told."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.rig.models import Rig
from tokgate.stats.levels import PRIOR_DF, PRIOR_SHARE
from tokgate.stats.modes import FEWEST, Restarts
from tokgate.verdicts.arm_restarts import CHECK, Stored, modes_do, modes_words, restarts_seen, run_lines
from tokgate.verdicts.metrics import Metric, floor_of


def restarts(
    rig: Rig, launches: Sequence[LaunchEvidence], workload: str, baseline_runs: Stored | None = None
) -> tuple[Verdict, ...]:
    """Judge all server runs of one arm, those stored of it among them: one verdict.

    Two modes are `invalid`, and so is whatever is judged from these runs. A single run shows nothing of restarts and
    says so; the comparisons then go by a prior, and say that as well. `launches` has one at least.
    """
    seen = restarts_seen(rig, launches, workload, baseline_runs)
    if isinstance(seen, Verdict):
        return (seen,)
    found, metric = seen
    first = launches[0].launch
    prior = PRIOR_SHARE * floor_of(rig, metric).relative
    two = found.gap is not None
    return (
        Verdict(
            check=CHECK,
            outcome=Outcome.INVALID if two else Outcome.PASS,
            headline=modes_words(first.arm, workload, found, metric)
            if two
            else _words(first.arm, workload, found, metric),
            arm=first.arm,
            launch=first.id,
            launches=tuple(one.launch.id for one in launches),
            workload=workload,
            value=None if found.sd is None else 100 * found.sd,
            unit=None if found.sd is None else "% sd",
            n=found.runs,
            floor=f"two modes more than {floor_of(rig, metric).relative:.1%} apart",
            evidence=run_lines(found, metric),
            warnings=_unseen(found, prior),
            do=modes_do(found) if two else None,
            raw=tuple(f"launches/{one.launch.id}/generations.jsonl" for one in launches),
        ),
    )


def _words(arm: str, workload: str, found: Restarts, metric: Metric) -> str:
    if found.sd is None:
        what = "one server run" if found.runs == 1 else f"one server run in each of {found.sessions} sessions"
        return f"{what} of {arm} in {workload}: nothing is known of what restarts differ by"
    return (
        f"restarts of {arm} differ by {found.sd:.2%} in {metric.words} of {workload} ({found.runs} server runs, "
        f"{found.seen} restarts seen)" + (": no two modes" if found.runs >= FEWEST else "")
    )


def _unseen(found: Restarts, prior: float) -> tuple[str, ...]:
    told = []
    if found.runs < FEWEST:
        told.append(
            f"{found.runs} server run{'s' if found.runs > 1 else ''} cannot show two modes, it takes {FEWEST}: restart "
            "more, or store a baseline"
        )
    if found.seen < PRIOR_DF:
        told.append(
            f"{found.seen} restarts seen: comparisons go by a prior of {prior:.2%} (standard deviation) as well"
        )
    return tuple(told)
