"""An arm that was measured properly and of which nothing is stored: what is nearest, and how to keep it."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import Difference, Outcome, Verdict
from tokgate.verdicts.arm_runs import raw_of, subject_of
from tokgate.verdicts.establish import Established

UPDATE = 'tokgate baseline update RUN --arm {arm} --why "…"'


def no_baseline(
    check: str,
    established: Sequence[Established],
    nearest: str | None,
    differs: tuple[Difference, ...],
    unreadable: tuple[str, ...],
    *,
    trails: bool,
) -> Verdict:
    """Say that nothing of this identity is stored. `trails`: it falls short of its twin, so it is not to be stored."""
    first = established[0]
    launch = first.launch.launch
    settings = "setting differs" if len(differs) == 1 else "settings differ"
    beside = f"; nearest is {nearest}, {len(differs)} {settings}" if nearest is not None else ""
    return Verdict(
        check=check,
        outcome=Outcome.NO_BASELINE,
        headline=f"no baseline for {first.workload} on {subject_of(established)}{beside}",
        arm=launch.arm,
        launch=launch.id,
        launches=tuple(one.launch.launch.id for one in established),
        workload=first.workload,
        n=sum(len(one.good) for one in established),
        evidence=tuple(f"{d.key}: {d.before or 'not set'} there, {d.now or 'not set'} here" for d in differs),
        warnings=tuple(f"unreadable neighbour {text}" for text in unreadable),
        differs=differs,
        do="it is slower than its twin has to be: that is explained before its numbers are kept"
        if trails
        else f"if these numbers are to be kept: {UPDATE.format(arm=launch.arm)}",
        raw=raw_of(established),
    )
