"""Promise: an EAGLE-3 arm is faster than the control arm of the same session."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tokgate.records import LaunchEvidence, Outcome, Reference, Verdict
from tokgate.rig.models import Rig
from tokgate.stats.compare import p_words
from tokgate.verdicts.bracket import Bracket, bracketed
from tokgate.verdicts.break_even import BreakEven
from tokgate.verdicts.budgets import subject
from tokgate.verdicts.cycle_side import WHICH_PHASE
from tokgate.verdicts.establish import Established, establish_workload, invalid
from tokgate.verdicts.graph_steps import beside_the_control, without_a_graph
from tokgate.verdicts.metrics import Metric, throughput_metric
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.speculating import LOOK_AT_THE_DRAFT, is_off, useless_words
from tokgate.verdicts.twins import ALONE, cost_of_a_cycle, establish_twins

CHECK = "speculation_beats_its_twin"


def speculation_beats_its_twin(
    rig: Rig, arm: LaunchEvidence, controls: Sequence[LaunchEvidence], workload: str
) -> tuple[Verdict, ...]:
    """Judge the speed-up, with an interval that must hold against each control.

    pass: the whole interval is at or above the rig's twin limit; where the rig sets none for this
    arm and workload, the measured speed-up is the verdict. regressed: all of it lies below.
    inconclusive: it straddles, there are too few values, or the controls differ from each other
    by more than the speed-up itself. Every control given must be established; without any the
    outcome is `invalid`, and so it is where the arm's server does no speculation: that would compare a plain
    server with itself.
    """
    numbers = establish_workload(rig, arm, workload, check=CHECK)
    if isinstance(numbers, Verdict):
        return (numbers,)
    metric = throughput_metric(rig.workload(workload).concurrency)
    twins = establish_twins(rig, arm, controls, workload, check=CHECK, lacks="no twin")
    if isinstance(twins, Verdict):
        return (twins,)
    shortfall = _unjudgeable(rig, numbers, twins, metric)
    if shortfall is not None:
        return (invalid(CHECK, [shortfall], launch=arm, workload=workload, metric=metric.name),)
    now = numbers.series[metric.name].values
    before = [twin.series[metric.name].values for twin in twins]
    bracket = bracketed(now, before)
    limit = _limit(rig, arm.launch.arm, workload)
    cost = cost_of_a_cycle(numbers, twins)
    outcome, words, do = _judge(bracket, limit, workload)
    if outcome is Outcome.REGRESSED:
        useless = useless_words(numbers)
        words += f": {useless}" if useless is not None else ""
        do = _next_step(cost, arm, controls, useless=useless is not None)
    value = statistics.median(now)
    pooled = statistics.median([v for values in before for v in values])
    span = ""
    if bracket.interval is not None:
        span = f", interval {bracket.interval[0]:.2f}–{bracket.interval[1]:.2f}"  # noqa: RUF001 - a dash between numbers
    names = ", ".join(t.launch.launch.id for t in twins)
    alone = (ALONE,) if len(twins) == 1 else ()
    return (
        Verdict(
            check=CHECK,
            outcome=outcome,
            headline=f"{metric.words} {metric.text(value)} on {subject(numbers)}: "
            f"{bracket.ratio:.2f}x its twin ({metric.bare(pooled)}){span}{words}",
            arm=arm.launch.arm,
            launch=arm.launch.id,
            workload=workload,
            metric=metric.name,
            value=value,
            unit=metric.unit,
            n=len(now),
            interval=(bracket.interval[0] - 1, bracket.interval[1] - 1) if bracket.interval else None,
            reference=Reference(
                kind="twin",
                label=f"{rig.control.name} arm of this session ({names})",
                value=pooled,
                n=sum(len(values) for values in before),
            ),
            change=bracket.ratio - 1,
            floor=f"at least {limit:g}x, the whole interval" if limit is not None else None,
            evidence=(
                *(
                    f"against {twin.launch.launch.id} ({metric.text(statistics.median(values))}): "
                    f"{c.ratio:.3f}x, {p_words(c.p)}, n={c.n_a}+{c.n_b}"
                    for twin, values, c in zip(twins, before, bracket.comparisons, strict=True)
                ),
                *((f"drift between the controls {bracket.drift:.1%}",) if len(twins) > 1 else ()),
                *((cost.text(),) if cost is not None else ()),
                *beside_the_control(arm, controls),
            ),
            warnings=(
                *alone,
                *numbers.series[metric.name].warnings,
                *dict.fromkeys(w for c in bracket.comparisons for w in c.warnings),
            ),
            do=do,
            raw=(*numbers.raw, *(r for t in twins for r in t.raw)),
        ),
    )


def _unjudgeable(
    rig: Rig, numbers: Established, twins: Sequence[Established], metric: Metric
) -> Shortfall | None:
    off = is_off(rig.arm(numbers.launch.launch.arm), numbers)
    if off is not None:
        return off
    for side in (numbers, *twins):
        if metric.name not in side.series:
            return Shortfall(
                what=f"{metric.name} of {side.launch.launch.id} is unknown: {side.why_missing(metric.name)}",
                do="see the raw bodies of that launch",
            )
    return None


def _limit(rig: Rig, arm: str, workload: str) -> float | None:
    """Return the rig's most particular twin limit (of equals the later one); None where it sets none."""
    fitting = [t for t in rig.twins if t.arm in ("*", arm) and t.workload in ("*", workload)]
    ranked = sorted(fitting, key=lambda t: (t.arm != "*", t.workload != "*"))
    return ranked[-1].at_least if ranked else None


def _judge(bracket: Bracket, limit: float | None, workload: str) -> tuple[Outcome, str, str | None]:
    if limit is None:
        return (Outcome.PASS, ", no limit set", None)
    if bracket.interval is None:
        fewest, more = bracket.missing
        return (
            Outcome.INCONCLUSIVE,
            f"; n={fewest} a side needs {more} more",
            f"raise repeats of {workload} by {more}",
        )
    low, high = bracket.interval
    effect = abs(bracket.ratio / limit - 1)
    if bracket.drift > effect:
        return (
            Outcome.INCONCLUSIVE,
            f"; the controls drift by {bracket.drift:.1%}",
            "the controls differ by more than the speed-up: look at clocks, heat and other load, then measure again",
        )
    if low >= limit:
        return (Outcome.PASS, "" if limit == 1 else f", limit {limit:g}x", None)
    if high < limit:
        return (Outcome.REGRESSED, f", below {limit:g}x", None)
    return (
        Outcome.INCONCLUSIVE,
        f" straddles {limit:g}x",
        f"raise repeats of {workload}, or quieten the machine",
    )


def _next_step(
    cost: BreakEven | None, arm: LaunchEvidence, controls: Sequence[LaunchEvidence], *, useless: bool
) -> str:
    answer = cost.answer() if cost is not None else "accept length and cycle time are unknown"
    if useless:
        return f"{answer}. {LOOK_AT_THE_DRAFT[0].upper()}{LOOK_AT_THE_DRAFT[1:]}"
    return f"{answer}. {without_a_graph(arm, controls) or WHICH_PHASE}"
