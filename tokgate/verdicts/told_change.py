"""A change of tok/s that is told and not judged: by the rule for stored baselines, as the only comparison there is."""

from __future__ import annotations

from typing import Literal

from tokgate.rig.limits import Floor
from tokgate.stats.decide import decide
from tokgate.stats.decision import Decision, Rule
from tokgate.stats.levels import RunValues

from .cycle_side import Side
from .metrics import METRICS

ALONE = 0.025  # one-sided: as its 95 % interval
MISS = 0.05  # of a loss that is said to have been seen


def change_of(
    before: Side, after: Side, floor: Floor | None, kind: Literal["side", "stored"] = "stored"
) -> Decision:
    """Compare the server runs of two sides; `floor`: the rig's own for decode tok/s, else the table's.

    `kind`: what `before` is, the base of a change in the same session, or a session of its own.
    Looked at once: the first look spends half of what it is given, so it is given twice. No restart can be asked for
    any more, so none has to confirm it.
    """
    metric = METRICS["decode_tok_s"]
    rule = Rule(
        higher_is_better=True,
        relative=floor.relative if floor is not None else metric.relative_floor,
        absolute=floor.absolute if floor is not None else metric.absolute_floor,
        level=2 * ALONE,
        miss=2 * MISS,
        confirm=False,
    )
    return decide(_runs(after), _runs(before), rule, kind=kind)


def _runs(side: Side) -> tuple[RunValues, ...]:
    return side.runs or (RunValues(session=side.label, launch=side.label, values=side.decode_tok_s),)
