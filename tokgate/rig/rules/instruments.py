"""A limit on a phase needs something that tells of phases."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.metric_names import PHASE_METRIC_NAMES
from tokgate.rig.models import Rig
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import spell


def broken_instruments(rig: Rig) -> Iterator[Problem]:
    for i, budget in enumerate(rig.budgets):
        if rig.instruments.skip is not None and budget.metric in PHASE_METRIC_NAMES:
            yield Problem(
                ("budgets", i, "metric"),
                f"{spell(budget.metric)} with instruments.skip = {spell(rig.instruments.skip)}",
                "no skip, or no such budget: nothing but the instruments tells of phases",
            )
