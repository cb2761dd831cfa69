"""The controls that an arm of the same session is compared with, established, and what a cycle costs beside them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tokgate.records import LaunchEvidence, Verdict
from tokgate.rig.models import Rig

from .break_even import BreakEven, break_even
from .establish import Established, establish_workload, invalid
from .shortfall import Shortfall

ALONE = "one control only: drift of the machine is not bracketed"


def establish_twins(
    rig: Rig,
    arm: LaunchEvidence,
    controls: Sequence[LaunchEvidence],
    workload: str,
    *,
    check: str,
    lacks: str,
) -> tuple[Established, ...] | Verdict:
    """Return every control's numbers, or the `invalid` verdict that says why there are not all of them.

    `lacks`: what the arm then has not, as the headline begins ("no twin").
    """
    found: list[Established] = []
    for control in controls:
        one = establish_workload(rig, control, workload, check=check)
        if isinstance(one, Verdict):
            headline = f"{lacks} for {arm.launch.arm}: {one.headline}"
            return one.model_copy(
                update={"headline": headline, "arm": arm.launch.arm, "launch": arm.launch.id}
            )
        found.append(one)
    shortfall = _unfit(rig, arm, found)
    if shortfall is not None:
        return invalid(check, [shortfall], launch=arm, workload=workload)
    return tuple(found)


def cost_of_a_cycle(numbers: Established, twins: Sequence[Established]) -> BreakEven | None:
    """Return break-even at the medians, of both controls together; None where the arm counts no verify calls."""
    accepted, cycle = numbers.series.get("accept_length"), numbers.series.get("cycle_ms")
    tokens = [g.counters.completion_tokens for g in numbers.good if g.counters is not None]
    counts = [t for t in tokens if t]
    if accepted is None or cycle is None or not counts:
        return None
    return break_even(
        accept_length=statistics.median(accepted.values),
        tokens=round(statistics.median(counts)),
        decode_ms=statistics.median([ms for twin in twins for ms in decode_ms(twin)]),
        cycle_ms=statistics.median(cycle.values),
    )


def decode_ms(twin: Established) -> tuple[float, ...]:
    """Return what a plain token takes one stream, in ms, one value a barrier start."""
    return tuple(1e3 / rate for rate in twin.series["decode_tok_s"].values)


def _unfit(rig: Rig, arm: LaunchEvidence, twins: Sequence[Established]) -> Shortfall | None:
    if rig.arm(arm.launch.arm).kind != "eagle3":
        return Shortfall(
            what=f"{arm.launch.arm} does no speculation: it has no twin", do="ask this of an eagle3 arm"
        )
    if not twins:
        return Shortfall(
            what="no control of this session was measured",
            do="run the whole session: pytest perf_tests -m eagle3 includes the control arm",
        )
    for twin in twins:
        if twin.launch.launch.arm != rig.control.name:
            return Shortfall(
                what=f"{twin.launch.launch.id} is no control: it runs arm {twin.launch.launch.arm}",
                do=f"compare with launches of {rig.control.name}",
            )
    return None
