"""The controls that an arm of the same session is compared with, established, and what a cycle costs beside them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from tokgate.records import LaunchEvidence, Verdict
from tokgate.rig.models import Rig

from .arm_runs import good_of, ratio_middle
from .break_even import BreakEven, break_even
from .establish import Established, establish_workload, invalid
from .shortfall import Shortfall
from .validity import invalidities

ALONE = "one control only: drift of the machine is not bracketed"


def establish_twins(
    rig: Rig,
    arm: Sequence[LaunchEvidence],
    controls: Sequence[LaunchEvidence],
    workload: str,
    *,
    check: str,
    lacks: str,
) -> tuple[Established, ...] | Verdict:
    """Return every control's numbers, or the `invalid` verdict that says why there are not all of them.

    `arm`: all its server runs. What the timed runs of both sides object to together, above all a drift of the controls
    beyond what restarts explain, is `invalid` as well. `lacks`: what the arm then has not, as the headline begins
    ("no twin").
    """
    first = arm[0]
    found: list[Established] = []
    for control in controls:
        one = establish_workload(rig, control, workload, check=check)
        if isinstance(one, Verdict):
            headline = f"{lacks} for {first.launch.arm}: {one.headline}"
            return one.model_copy(
                update={"headline": headline, "arm": first.launch.arm, "launch": first.launch.id}
            )
        found.append(one)
    shortfall = _unfit(rig, first, found)
    shortfalls = [shortfall] if shortfall is not None else []
    timed = [launch for launch in (*arm, *controls) if launch.launch.stands_for_arm]
    shortfalls = shortfalls or list(invalidities(rig, timed, workload))
    if shortfalls:
        return invalid(check, shortfalls, launch=first, workload=workload)
    return tuple(found)


def cost_of_a_cycle(runs: Sequence[Established], twins: Sequence[Established]) -> BreakEven | None:
    """Return break-even of an arm's runs, of all controls together; None where the arm counts no verify calls.

    Each number is that of its runs' middle, as a decision on them has it.
    """
    counts = [t for g in good_of(runs) if g.counters is not None and (t := g.counters.completion_tokens)]
    if not counts or any(m not in run.series for run in runs for m in ("accept_length", "cycle_ms")):
        return None
    return break_even(
        accept_length=ratio_middle(runs, "accept_length"),
        tokens=round(statistics.median(counts)),
        decode_ms=1e3 / ratio_middle(twins, "decode_tok_s"),
        cycle_ms=ratio_middle(runs, "cycle_ms"),
    )


def decode_ms(twin: Established) -> tuple[float, ...]:
    """Return what a plain token takes one stream, in ms, one value a barrier start."""
    return tuple(1e3 / rate for rate in twin.series["decode_tok_s"].values)


def drift_of(twins: Sequence[Established], metric: str) -> float:
    """Return the largest relative difference between two controls, 0 with one; each has the median of its starts."""
    medians = [statistics.median(twin.series[metric].values) for twin in twins]
    return max(medians) / min(medians) - 1


def drift_words(twins: Sequence[Established], metric: str) -> tuple[str, ...]:
    """Return what the controls say of the machine's drift: a line of evidence, nothing of one control."""
    if len(twins) < 2:
        return ()
    return (f"drift between the controls {drift_of(twins, metric):.1%}",)


def drifts_beyond(twins: Sequence[Established], metric: str, effect: float) -> bool:
    """Say whether the controls differ by more than what is to be judged beside them, a relative difference."""
    return len(twins) > 1 and math.isfinite(effect) and drift_of(twins, metric) > abs(effect)


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
