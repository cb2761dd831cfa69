"""Promise: the NCCL block does not cost speed; and what it buys, with and without, in one session."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from tokgate.records import LaunchEvidence, Outcome, VariableState, Verdict
from tokgate.rig.models import Rig
from tokgate.stats.decide import decide
from tokgate.verdicts.arm_runs import Launches, all_of, warnings_of
from tokgate.verdicts.concluded import concluded
from tokgate.verdicts.decision_words import why
from tokgate.verdicts.establish import Established, establish_workload, invalid
from tokgate.verdicts.metrics import floor_of, floor_text, throughput_metric
from tokgate.verdicts.note import note
from tokgate.verdicts.run_again import WITH_NCCL, measure, with_starts
from tokgate.verdicts.run_values import asked_of, values_now
from tokgate.verdicts.shortfall import Shortfall
from tokgate.verdicts.two_sides import of_two_sides
from tokgate.verdicts.validity import invalidities

CHECK = "nccl_tuning"
_RUNS_OF_WHOLE_JOB = 2  # of the control arm: before the others and after them
# SGLang's engine.py gives these to its schedulers where the shell line left them unset (0.5.6 to 0.5.23).
_BY_SGLANG = frozenset({"NCCL_CUMEM_ENABLE", "NCCL_NVLS_ENABLE", "NCCL_GRAPH_MIXING_SUPPORT"})


def nccl_side(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Establish one side: the control arm with its NCCL block, or a launch that is proven to go without.

    No budget and no baseline is asked: those belong to the rig as written.
    """
    goes_without = launch.launch.role == "nccl-off"
    numbers = _established(rig, launch, workload, goes_without=goes_without)
    if isinstance(numbers, Verdict):
        return (numbers,)
    metric = throughput_metric(rig.workload(workload).concurrency)
    series = numbers.series[metric.name]
    side = "without" if goes_without else "with"
    return (
        note(
            CHECK,
            f"{metric.words} {metric.text(statistics.median(series.values))} {side} the NCCL block",
            launch=launch,
            workload=workload,
            metric=metric,
            series=series,
            raw=numbers.raw,
            warnings=_by_sglang(launch),
        ),
    )


def nccl_tuning(rig: Rig, tuned: Launches, untuned: Launches, workload: str) -> tuple[Verdict, ...]:
    """Judge what the block buys: runs of the control arm against runs that must be proven to go without it.

    pass: faster, or no loss worth calling. regressed: the server is faster without the block, beyond the
    floor, in two of its runs. inconclusive: such a loss is not excluded. Both sides are different servers: how far runs
    of each differ is known of each alone.
    """
    sides: list[tuple[Established, ...]] = []
    for launches, goes_without in ((all_of(tuned), False), (all_of(untuned), True)):
        found = [_established(rig, one, workload, goes_without=goes_without) for one in launches]
        refused = next((one for one in found if isinstance(one, Verdict)), None)
        if refused is not None:
            return (refused,)
        sides.append(tuple(one for one in found if isinstance(one, Established)))
    on, off = sides
    measured = [one.launch for side in sides for one in side]
    shortfalls = invalidities(rig, measured, workload)
    if shortfalls:
        return (invalid(CHECK, list(shortfalls), launch=measured[0], workload=workload),)
    metric = throughput_metric(rig.workload(workload).concurrency)
    asked = asked_of(rig, "twin", metric, workload, (*on, *off), same_configuration=False)
    decision = decide(values_now(on, metric.name), values_now(off, metric.name), asked.rule, kind="twin")
    first, other = on[0].launch.launch, off[0].launch.launch
    words = {
        Outcome.IMPROVED: f"the NCCL block buys {decision.change:+.1%}",
        Outcome.PASS: f"the NCCL block buys nothing worth calling ({decision.change:+.1%})",
        Outcome.REGRESSED: f"the NCCL block costs {-decision.change:.1%}",
        Outcome.INCONCLUSIVE: f"what the NCCL block buys is undecided ({decision.change:+.1%})",
    }[decision.outcome]
    warnings = (
        *(w for one in off for w in _by_sglang(one.launch)),
        *warnings_of(on, metric.name),
        *warnings_of(off, metric.name),
    )
    told = concluded(
        rig,
        decision,
        asked,
        metric,
        measured=of_two_sides(
            CHECK,
            decision,
            metric,
            on,
            off,
            label=f"{first.arm} without server.nccl ({other.id})",
            headline=words,
        ).model_copy(update={"warnings": warnings}),
        look="take the block out, or find the variable that costs: leave out one at a time",
        twin=f"{first.arm} without the block",
    )
    do = told.do
    if decision.outcome is Outcome.INCONCLUSIVE:
        do = _again(rig, workload, runs=len(on), needs=told.needs)
    return (
        told.model_copy(
            update={
                # A gain over no tuning at all is no improvement of the code.
                "outcome": Outcome.PASS if decision.outcome is Outcome.IMPROVED else decision.outcome,
                "headline": f"{words} on {workload}: {metric.text(decision.now)} with, "
                f"{metric.bare(decision.before)} without, {why(decision, told.needs)}",
                "launches": tuple(one.launch.launch.id for one in (*on, *off)),
                "floor": floor_text(floor_of(rig, metric), metric),
                "wanted": {},  # nobody starts the launch without the block again
                "do": do,
            }
        ),
    )


def _again(rig: Rig, workload: str, *, runs: int, needs: str | None) -> str:
    """Return what to do where it is undecided. The launch without the block runs once in any session, the control as often as asked."""
    if runs < _RUNS_OF_WHOLE_JOB:
        settling = f"{needs} would settle it if the number stays: " if needs is not None else ""
        return (
            f"{settling}measure both again in the whole job, in which the control arm runs twice: "
            f"{measure(rig, WITH_NCCL)}"
        )
    repeats = next((w.repeats for w in rig.workloads if w.name == workload), 1)
    return (
        f"measure both again, with twice as many starts of {workload} in every launch: "
        f"{with_starts(rig, workload, 2 * repeats, WITH_NCCL)}; where it stays undecided, the block buys too little to tell"
    )


def _established(
    rig: Rig, launch: LaunchEvidence, workload: str, *, goes_without: bool
) -> Established | Verdict:
    numbers = establish_workload(rig, launch, workload, check=CHECK)
    if isinstance(numbers, Verdict):
        return numbers
    shortfalls = list(_still_there(rig, launch)) if goes_without else []
    metric = throughput_metric(rig.workload(workload).concurrency)
    if metric.name not in numbers.series:
        shortfalls.append(
            Shortfall(
                what=f"{metric.name} is unknown: {numbers.why_missing(metric.name)}",
                do="see the raw bodies of that launch",
            )
        )
    if shortfalls:
        return invalid(CHECK, shortfalls, launch=launch, workload=workload, raw=numbers.raw)
    return numbers


def _still_there(rig: Rig, launch: LaunchEvidence) -> Iterable[Shortfall]:
    """Yield what contradicts, or leaves unproven, that the launch went without the block."""
    truth = launch.without
    seen = {row.variable for row in truth.rows} if truth is not None else set()
    if truth is None or set(rig.server.nccl) - seen:
        yield Shortfall(
            what="nobody looked whether the NCCL block was really gone",
            do="measure again; the proof is taken right after the server is ready",
        )
        return
    by_sglang = _filled_in(launch)
    for row in truth.rows:
        where = f"{row.process} (pid {row.pid})"
        if row.state is VariableState.ABSENT or row.variable in by_sglang:
            continue
        if row.found is not None:
            yield Shortfall(
                what=f"{row.variable}={row.found} is in {where}, though this launch goes without the block",
                do="look at what sets it: server.environment, a wrapper, a patch of SGLang",
            )
        else:
            yield Shortfall(
                what=f"{row.variable} cannot be proven absent from {where}: its environment is {row.state.value}",
                do="put SPT_NOENV=1 in front of the command",
            )


def _filled_in(launch: LaunchEvidence) -> frozenset[str]:
    """Return what main was started without and gave to its children, where SGLang is known to do so."""
    truth = launch.without
    if truth is None:
        return frozenset()
    absent = {r.variable for r in truth.rows if r.process == "main" and r.state is VariableState.ABSENT}
    elsewhere = {r.variable for r in truth.rows if r.process != "main" and r.found is not None}
    return _BY_SGLANG & absent & elsewhere


def _by_sglang(launch: LaunchEvidence) -> tuple[str, ...]:
    return tuple(f"SGLang itself sets {name} where the rig does not" for name in sorted(_filled_in(launch)))
