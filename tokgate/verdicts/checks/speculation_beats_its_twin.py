"""Promise: an EAGLE-3 arm is faster than the control arm of the same session."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.rig.models import Rig
from tokgate.stats.decide import decide
from tokgate.stats.decision import Decision
from tokgate.verdicts.arm_runs import History, Launches, all_of, run_by_run, subject_of, warnings_of
from tokgate.verdicts.break_even import BreakEven
from tokgate.verdicts.concluded import concluded
from tokgate.verdicts.cycle_side import WHICH_PHASE
from tokgate.verdicts.establish import Established, invalid
from tokgate.verdicts.graph_steps import beside_the_control, without_a_graph
from tokgate.verdicts.metrics import Metric, throughput_metric
from tokgate.verdicts.run_values import asked_of, values_now
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.speculating import LOOK_AT_THE_DRAFT, is_off, useless_words
from tokgate.verdicts.twins import (
    ALONE,
    cost_of_a_cycle,
    drift_of,
    drift_words,
    drifts_beyond,
    establish_twins,
)
from tokgate.verdicts.two_sides import of_two_sides
from tokgate.verdicts.validity import establish_arm

CHECK = "speculation_beats_its_twin"


def speculation_beats_its_twin(
    rig: Rig,
    launches: Launches,
    controls: Sequence[LaunchEvidence],
    workload: str,
    *,
    history: History | None = None,
    twin_history: History | None = None,
) -> tuple[Verdict, ...]:
    """Judge the speed-up of an arm over the control arm, server run by server run.

    `launches`: all server runs of the arm, in order of time. `controls`: all of the control arm in this session,
    which are one side; how far they differ is part of the interval. `history`: stored runs of the arm, which tell how
    much its runs differ; `twin_history`: of the control, which tell with them whether restarts have two modes. The
    speed-up is held against the rig's twin limit as a value is against a budget. pass: it is kept, with the power that the rig asks for; where the rig sets none for
    this arm and workload, the measured speed-up is the verdict. regressed: it is missed at the session's level, by more
    runs than two modes of restarts explain. inconclusive: neither, with what would settle it. invalid: no control was given, one cannot
    be judged, they have drifted beyond what restarts explain, or the arm's server does no speculation: that would
    compare a plain server with itself.
    """
    runs = establish_arm(rig, all_of(launches), workload, check=CHECK)
    if isinstance(runs, Verdict):
        return (runs,)
    arm = runs[0].launch
    metric = throughput_metric(rig.workload(workload).concurrency)
    twins = establish_twins(
        rig, [run.launch for run in runs], controls, workload, check=CHECK, lacks="no twin"
    )
    if isinstance(twins, Verdict):
        return (twins,)
    shortfall = _unjudgeable(rig, runs, twins, metric)
    if shortfall is not None:
        return (invalid(CHECK, [shortfall], launch=arm, workload=workload, metric=metric.name),)
    least = rig.twin(arm.launch.arm, workload)
    limit = None if least is None else least.at_least
    asked = asked_of(rig, "twin", metric, workload, (*runs, *twins), same_configuration=False)
    now, before = values_now(runs, metric.name), values_now(twins, metric.name)
    decision = decide(
        now,
        before,
        asked.rule,
        kind="twin",
        history=(history or {}).get(metric.name, ()),
        limit_ratio=1.0 if limit is None else limit,
        beside=(twin_history or {}).get(metric.name, ()),
    )
    cost, useless = cost_of_a_cycle(runs, twins), useless_words(runs)
    names = ", ".join(t.launch.launch.id for t in twins)
    measured = of_two_sides(
        CHECK,
        decision,
        metric,
        runs,
        twins,
        label=f"{rig.control.name} arm of this session ({names})",
        headline=f"{_speed_up(decision, metric, subject_of(runs))}, no limit set",
    ).model_copy(
        update={
            "evidence": (
                *run_by_run(now, metric),
                *(
                    f"against {run.launch} ({metric.text(value)}): {decision.now / value:.3f}x, n={len(run.values)}"
                    for run in before
                    for value in (statistics.median(run.values),)
                ),
                *drift_words(twins, metric.name),
                *((cost.text(max(1.0, limit or 1.0)),) if cost is not None else ()),
                *beside_the_control(arm, controls),
            ),
            "warnings": (*((ALONE,) if len(twins) == 1 else ()), *warnings_of(runs, metric.name)),
        }
    )
    if limit is None:
        return (measured,)
    told = concluded(
        rig,
        decision,
        asked,
        metric,
        measured=measured,
        look=_next_step(
            _answered(cost, limit, decision, rig.workload(workload).concurrency),
            arm,
            controls,
            useless=useless is not None,
        ),
        twin=rig.control.name,
        limit=limit,
    )
    words = _words(decision, limit, twins, metric)
    if decision.outcome is Outcome.REGRESSED and useless is not None:
        words += f": {useless}"
    needs = f"; needs {told.needs}" if told.needs is not None else ""
    return (
        told.model_copy(
            update={
                "headline": f"{_speed_up(decision, metric, subject_of(runs))}{words}{needs}",
                "floor": f"at least {limit:g}x, surely",
            }
        ),
    )


def _speed_up(decision: Decision, metric: Metric, on: str) -> str:
    low, high = (1 + change for change in decision.interval)
    return (
        f"{metric.words} {metric.text(decision.now)} on {on}: {1 + decision.change:.2f}x its twin "
        f"({metric.bare(decision.before)}), interval {low:.2f}–{high:.2f}"  # noqa: RUF001 - a dash between numbers
    )


def _unjudgeable(
    rig: Rig, runs: Sequence[Established], twins: Sequence[Established], metric: Metric
) -> Shortfall | None:
    for run in runs:
        off = is_off(rig.arm(run.launch.launch.arm), run)
        if off is not None:
            return off
    for side in (*runs, *twins):
        if metric.name not in side.series:
            return Shortfall(
                what=f"{metric.name} of {side.launch.launch.id} is unknown: {side.why_missing(metric.name)}",
                do="see the raw bodies of that launch",
            )
    return None


def _words(decision: Decision, limit: float, twins: Sequence[Established], metric: Metric) -> str:
    """Say how the speed-up stands to its limit."""
    if decision.outcome is Outcome.PASS:
        return "" if limit == 1 else f", limit {limit:g}x"
    if decision.outcome is Outcome.REGRESSED:
        return f", below {limit:g}x"
    if drifts_beyond(twins, metric.name, decision.loss):
        return f"; the controls drift by {drift_of(twins, metric.name):.1%}"
    if decision.established:
        return f", below {limit:g}x, not confirmed by restarts"
    low, high = decision.interval
    if low <= limit - 1 <= high:
        return f" straddles {limit:g}x"
    return f", {'above' if decision.loss <= 0 else 'below'} {limit:g}x, but not surely"


def _answered(cost: BreakEven | None, limit: float, decision: Decision, streams: int) -> str:
    if cost is None:
        return "accept length and cycle time are unknown"
    # Of several streams the limit is on all together, and the arithmetic is of one.
    asked = limit if streams == 1 else 1.0
    return cost.answer(asked, reached=1 + decision.change, streams=streams)


def _next_step(answer: str, arm: LaunchEvidence, controls: Sequence[LaunchEvidence], *, useless: bool) -> str:
    if useless:
        return f"{answer}. {LOOK_AT_THE_DRAFT[0].upper()}{LOOK_AT_THE_DRAFT[1:]}"
    return f"{answer}. {without_a_graph(arm, controls) or WHICH_PHASE}"
