"""Promise: the NCCL block does not cost speed; and what it buys, with and without, in one session."""

from __future__ import annotations

import statistics
from collections.abc import Iterable

from tokgate.records import LaunchEvidence, Outcome, Reference, VariableState, Verdict
from tokgate.rig.models import Rig
from tokgate.stats.compare import p_words
from tokgate.verdicts.change import judge_change
from tokgate.verdicts.establish import Established, establish_workload, invalid
from tokgate.verdicts.metrics import floor_of, floor_text, throughput_metric
from tokgate.verdicts.note import note
from tokgate.verdicts.shortfall import Shortfall

CHECK = "nccl_tuning"
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


def nccl_tuning(
    rig: Rig, tuned: LaunchEvidence, untuned: LaunchEvidence, workload: str
) -> tuple[Verdict, ...]:
    """Judge what the block buys: `tuned` against `untuned`, which must be proven to go without it.

    pass: faster, or no loss worth calling. regressed: the server is faster without the block, beyond the
    floor. inconclusive: such a loss is not excluded.
    """
    on = _established(rig, tuned, workload, goes_without=False)
    if isinstance(on, Verdict):
        return (on,)
    off = _established(rig, untuned, workload, goes_without=True)
    if isinstance(off, Verdict):
        return (off,)
    metric = throughput_metric(rig.workload(workload).concurrency)
    now, before = on.series[metric.name], off.series[metric.name]
    floor = floor_of(rig, metric)
    change = judge_change(now.values, before.values, metric, floor)
    value = statistics.median(now.values)
    words = {
        Outcome.IMPROVED: f"the NCCL block buys {change.change:+.1%}",
        Outcome.PASS: f"the NCCL block buys nothing worth calling ({change.change:+.1%})",
        Outcome.REGRESSED: f"the NCCL block costs {-change.change:.1%}",
        Outcome.INCONCLUSIVE: f"what the NCCL block buys is undecided ({change.change:+.1%})",
    }[change.outcome]
    slower = change.outcome is Outcome.REGRESSED
    return (
        Verdict(
            check=CHECK,
            # A gain over no tuning at all is no improvement of the code.
            outcome=Outcome.PASS if change.outcome is Outcome.IMPROVED else change.outcome,
            headline=f"{words} on {workload}: {metric.text(value)} with, {metric.bare(change.reference)} without, "
            f"{change.why}",
            arm=tuned.launch.arm,
            launch=tuned.launch.id,
            workload=workload,
            metric=metric.name,
            value=value,
            unit=metric.unit,
            n=len(now.values),
            interval=change.interval,
            reference=Reference(
                kind="twin",
                label=f"{tuned.launch.arm} without server.nccl ({untuned.launch.id})",
                value=change.reference,
                n=len(before.values),
            ),
            change=change.change,
            floor=floor_text(floor, metric),
            evidence=(f"{p_words(change.comparison.p)}, n={change.comparison.n_a}+{change.comparison.n_b}",),
            warnings=(
                "one server start a side: what differs from start to start is not in the interval",
                *_by_sglang(untuned),
                *now.warnings,
                *before.warnings,
                *change.comparison.warnings,
            ),
            do="take the block out, or find the variable that costs: leave out one at a time"
            if slower
            else change.do,
            raw=(*on.raw, *off.raw),
        ),
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
