"""A limit that is derived must have something to be derived from, and a pinned arm is judged by its pin."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records.metric_names import BREAK_EVEN_METRIC_NAMES, METRIC_NAMES
from tokgate.rig.models import Rig
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import spell


def broken_budgets(rig: Rig) -> Iterator[Problem]:
    pinned = {a.name: a.acceptance for a in rig.arms if a.acceptance != "natural"}
    for i, budget in enumerate(rig.budgets):
        if budget.metric == "accept_length" and budget.arm in pinned:
            yield Problem(
                ("budgets", i, "arm"),
                f"{spell(budget.arm)} for accept_length, with acceptance = {spell(pinned[budget.arm])}",
                "an arm with natural acceptance: a pinned one is judged by its pin",
            )
        margin = budget.break_even_margin
        if margin is None:
            continue
        here = ("budgets", i, "break_even_margin")
        if budget.metric in METRIC_NAMES and budget.metric not in BREAK_EVEN_METRIC_NAMES:
            yield Problem(
                here,
                f"{spell(margin)} for {budget.metric}",
                f"at_least or at_most: only {', '.join(BREAK_EVEN_METRIC_NAMES)} have a break-even",
            )
        fixed = [key for key in ("at_least", "at_most") if getattr(budget, key) is not None]
        if fixed:
            yield Problem(
                here,
                f"{spell(margin)} beside {' and '.join(fixed)}",
                "one of them: another limit is another [[budgets]] entry",
            )
        if not 0 <= margin < 1:
            yield Problem(here, spell(margin), "from 0 to below 1: 0.05 asks speculation to win by 5 %")
