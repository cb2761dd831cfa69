"""Whether a change costs the same on top of what came before it as it gives back when it is taken out of the whole.

Costs of prefixes add up whatever happens, since each is measured on top of the one before. That they are costs *of the change*, and not
of the change in that company, is another claim, which only another tree can test: the whole without it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import scipy

from .bounds import DETECT
from .decision import CONFIDENCE, Rule
from .levels import PRIOR_SHARE, Floats, RunValues, posterior, sums
from .sides import scaled


class Interaction(NamedTuple):
    """All relative; a cost is positive. `difference`: what it gives back beyond what it costs."""

    back: float
    back_interval: tuple[float, float]
    difference: float
    interval: tuple[float, float]  # of the difference, two-sided, CONFIDENCE
    finding: Literal["adds-up", "does-not", "open"]


def interaction(
    before: Sequence[RunValues],
    with_it: Sequence[RunValues],
    without: Sequence[RunValues],
    whole: Sequence[RunValues],
    *,
    others: Sequence[Sequence[RunValues]],
    rule: Rule,
    among: int,
) -> Interaction:
    """`before`, `with_it`: the prefixes around the change; `without`, `whole`: all of them but it, and all of them.

    `others`: runs of further prefixes, one group each: how far runs differ is known of all together. `among`: how many such
    comparisons the session may make; `does-not` is called at the rule's level, shared by them.
    """
    sides = [_on_scale(runs, rule) for runs in (before, with_it, without, whole)]
    spread = posterior(
        (PRIOR_SHARE * rule.relative) ** 2, sums([*sides, *(_on_scale(runs, rule) for runs in others)])
    )
    sign = 1.0 if rule.higher_is_better else -1.0
    cost = sign * float(sides[0].mean() - sides[1].mean())
    back = sign * float(sides[2].mean() - sides[3].mean())
    run_sd = math.sqrt(float(spread.variance))

    def half(groups: Sequence[Floats], chance: float) -> float:
        error = run_sd * math.sqrt(sum(1 / len(group) for group in groups))
        return error * float(scipy.special.stdtrit(spread.df, 1 - chance / 2))

    shown, called = half(sides, 1 - CONFIDENCE), half(sides, rule.level / among)
    difference = back - cost
    finding: Literal["adds-up", "does-not", "open"] = "open"
    if abs(difference) > called and abs(math.expm1(difference)) > rule.relative:
        finding = "does-not"
    elif abs(difference) + shown < DETECT * rule.relative:
        finding = "adds-up"
    own = half(sides[2:], 1 - CONFIDENCE)
    return Interaction(
        back=-math.expm1(-back),
        back_interval=(-math.expm1(-(back - own)), -math.expm1(-(back + own))),
        difference=math.expm1(difference),
        interval=(math.expm1(difference - shown), math.expm1(difference + shown)),
        finding=finding,
    )


def _on_scale(runs: Sequence[RunValues], rule: Rule) -> Floats:
    return np.array([statistics.median(scaled(v, rule) for v in run.values) for run in runs])
