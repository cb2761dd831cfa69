"""What the instruments measure is there, and a limit on a phase has something that tells of it."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.metric_names import PHASE_METRIC_NAMES
from tokgate.rig.models import Rig
from tokgate.rig.nearest import known_names
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import spell

FEWEST_PAIRS = 6  # as many as an interval of their median needs (stats.summary.needed_for_interval)


def broken_instruments(rig: Rig) -> Iterator[Problem]:
    spec = rig.instruments
    known = [w.name for w in rig.workloads]
    taken = spec.workloads if spec.workloads is not None else tuple(known)
    for i, name in enumerate(taken):
        here = ("instruments", "workloads", i)
        if name not in known:
            yield Problem(here, spell(name), f"a workload of this rig, {known_names(name, known)}")
        elif name in taken[:i]:
            yield Problem(here, spell(name), "each workload once")
    if spec.cost_pairs is not None and 0 < spec.cost_pairs < FEWEST_PAIRS:
        yield Problem(
            ("instruments", "cost_pairs"),
            spell(spec.cost_pairs),
            f"at least {FEWEST_PAIRS}, fewer have no interval; or 0, and what the probe costs stays unknown",
        )
    for i, budget in enumerate(rig.budgets):
        if budget.metric not in PHASE_METRIC_NAMES:
            continue
        if spec.skip is not None:
            yield Problem(
                ("budgets", i, "metric"),
                f"{spell(budget.metric)} with instruments.skip = {spell(spec.skip)}",
                "no skip, or no such budget: nothing but the instruments tells of phases",
            )
        elif budget.workload in known and budget.workload not in taken:
            yield Problem(
                ("budgets", i, "workload"),
                f"{spell(budget.workload)} for {budget.metric}, not among instruments.workloads",
                f"{spell(budget.workload)} in instruments.workloads, or no such budget: it would never be judged",
            )
