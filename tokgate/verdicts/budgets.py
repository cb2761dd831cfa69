"""The value of an arm against the limits of the rig, judged by how far its server runs differ."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tokgate.records import LaunchEvidence, Outcome, Reference, Verdict
from tokgate.rig.limits import Budget
from tokgate.rig.models import Rig
from tokgate.stats.against_limit import against_limit
from tokgate.stats.decision import Decision
from tokgate.stats.levels import RunValues

from .arm_runs import History, middle, raw_of, run_by_run, subject_of, warnings_of
from .concluded import concluded, value_interval
from .decision_words import noise_of
from .establish import Established, invalid
from .metrics import METRICS, Metric
from .run_values import Asked, asked_of, values_now
from .shortfall import Shortfall

# From a margin to break-even and the measured value to the verdict on it.
Derive = Callable[[float, Verdict], Verdict]


def budgets_on(rig: Rig, launch: LaunchEvidence, workload: str, metrics: Sequence[str]) -> tuple[Budget, ...]:
    """Return what the rig's budgets say of these metrics for this launch's arm under this workload."""
    return tuple(
        b
        for b in rig.budgets
        if b.metric in metrics and b.arm in ("*", launch.launch.arm) and b.workload in ("*", workload)
    )


def kept_ceiling(rig: Rig, launch: LaunchEvidence, measured: Verdict) -> float | None:
    """Return the lowest `at_most` of the rig where the value's whole interval keeps it; None: not kept, or none set."""
    budgets = budgets_on(rig, launch, measured.workload or "", (measured.metric or "",))
    lowest = min((b.at_most for b in budgets if b.at_most is not None), default=None)
    if lowest is None or measured.interval is None or measured.interval[1] > lowest:
        return None
    return lowest


def asks_for_twins(rig: Rig, launch: LaunchEvidence, workload: str, *metrics: str) -> bool:
    """Say whether one of those budgets is derived from break-even: without the control arm it cannot be judged."""
    return any(b.break_even_margin is not None for b in budgets_on(rig, launch, workload, metrics))


def subject(established: Established) -> str:
    """Return what a headline calls a launch: its arm, or its id where the arm runs twice."""
    return subject_of((established,))


def judge_metric(
    rig: Rig,
    runs: Sequence[Established],
    metric_name: str,
    *,
    check: str,
    evidence: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
    derive: Derive | None = None,
    history: History | None = None,
    instruments: bool = False,
) -> tuple[Verdict, ...]:
    """Return one verdict per limit that the rig sets for this metric, arm and workload.

    `runs`: all server runs of the arm, in order of time. `derive` judges limits that are a margin to break-even; None
    where the metric has none. `history`: runs of the same configuration that were stored, which tell how much its
    runs differ. `instruments`: these runs carry them, and so does what would settle a doubt.

    Of fixed limits (stats/against_limit.py): regressed: missed at the session's level, by more runs than
    two modes of restarts explain. pass: kept, with the power that the rig asks for. inconclusive: neither, with what would settle it.
    Without any limit the measured value itself is the verdict, a pass that names no reference.
    """
    metric, first = METRICS[metric_name], runs[0]
    shortfall = _unknown(runs, metric_name)
    if shortfall is not None:
        launch, shortfalls = shortfall
        found = invalid(
            check,
            shortfalls,
            launch=launch,
            workload=first.workload,
            metric=metric_name,
            raw=raw_of(runs),
        )
        return (found,)
    asked = asked_of(rig, "limit", metric, first.workload, runs)
    values, stored = values_now(runs, metric_name), (history or {}).get(metric_name, ())
    measured, noise = _measured(runs, values, asked, metric, check=check, history=stored)
    measured = measured.model_copy(
        update={
            "evidence": (*measured.evidence, *evidence, *run_by_run(values, metric)),
            "warnings": (*measured.warnings, *warnings),
        }
    )
    budgets = budgets_on(rig, first.launch, first.workload, (metric_name,))
    if not budgets:
        return (measured.model_copy(update={"evidence": (*measured.evidence, *noise)}),)
    look = _where_to_look(metric_name, speculates="accept_length" in first.series)
    fixed = []
    for kind, limit in (named for budget in budgets for named in _limits(budget)):
        rule = asked.rule.model_copy(update={"higher_is_better": kind == "floor"})
        decision = against_limit(values, limit, rule, history=stored)
        told = concluded(rig, decision, asked, metric, measured=measured, look=look, instruments=instruments)
        value = f"{metric.words} {metric.text(decision.now)} on {subject_of(runs)}"
        fixed.append(_of_limit(kind, decision, told, value=value, metric=metric))
    margins = [b.break_even_margin for b in budgets if b.break_even_margin is not None]
    if margins and derive is None:
        what = f"{metric_name} has no break-even: its limit cannot be derived"
        no_limit = Shortfall(what=what, do="give it at_least or at_most in the rig")
        return (*fixed, invalid(check, [no_limit], launch=first.launch, workload=first.workload))
    return (*fixed, *(derive(margin, measured) for margin in margins if derive is not None))


def _unknown(runs: Sequence[Established], metric: str) -> tuple[LaunchEvidence, list[Shortfall]] | None:
    for run in runs:
        series = run.series.get(metric)
        if series is None:
            what = f"{metric} is unknown: {run.why_missing(metric)}"
            do = "see the raw bodies; this server version may not tell it on this endpoint"
            return run.launch, [Shortfall(what=what, do=do)]
        odd = [v for v in series.values if not (math.isfinite(v) and v > 0)]
        if odd:
            what = f"{metric} is {odd[0]:g} in {len(odd)} of {len(series.values)} starts: no such number"
            return run.launch, [Shortfall(what=what, do="read the raw bodies of those starts")]
    return None


def _measured(
    runs: Sequence[Established],
    values: Sequence[RunValues],
    asked: Asked,
    metric: Metric,
    *,
    check: str,
    history: Sequence[RunValues],
) -> tuple[Verdict, tuple[str, ...]]:
    """Return the value by itself with the interval that its runs give it, and what that interval comes from."""
    launch = runs[0].launch.launch
    value = middle(values, asked.rule)
    itself = against_limit(values, value, asked.rule, history=history)
    interval = value_interval(itself)
    sources = dict.fromkeys(source for run in runs for source in run.series[metric.name].sources)
    measured = Verdict(
        check=check,
        outcome=Outcome.PASS,
        headline=f"{metric.words} {metric.text(value)} on {subject_of(runs)}: "
        f"no budget set, {_interval(interval, metric)}",
        arm=launch.arm,
        launch=launch.id,
        launches=tuple(run.launch.launch.id for run in runs),
        workload=runs[0].workload,
        metric=metric.name,
        value=value,
        unit=metric.unit,
        n=sum(len(run.values) for run in values),
        interval=interval,
        evidence=(f"source: {'; '.join(sources)}",),
        warnings=warnings_of(runs, metric.name),
        raw=raw_of(runs),
    )
    return measured, noise_of(itself, metric)


def _limits(budget: Budget) -> tuple[tuple[str, float], ...]:
    named = (("floor", budget.at_least), ("ceiling", budget.at_most))
    return tuple((kind, limit) for kind, limit in named if limit is not None)


def _of_limit(kind: str, decision: Decision, told: Verdict, *, value: str, metric: Metric) -> Verdict:
    limit, interval = decision.before, value_interval(decision)
    good, bad = ("above", "below") if kind == "floor" else ("below", "above")
    bound, side = f"the {kind} {limit:g}", good if decision.loss <= 0 else bad
    if decision.outcome is not Outcome.INCONCLUSIVE:
        words = f"{side} {bound}"
    elif decision.established:
        words = f"{side} {bound}, not confirmed by restarts"
    elif interval[0] <= limit <= interval[1]:
        words = f"{bound} lies inside the interval"
    else:
        words = f"{side} {bound}, but not surely"
    needs = f"; needs {told.needs}" if told.needs is not None else ""
    return told.model_copy(
        update={
            "headline": f"{value}: {words}, {_interval(interval, metric)}{needs}",
            "reference": Reference(kind="budget", label=f"{kind} {limit:g} {metric.unit}", value=limit),
            "floor": f"{kind} {limit:g} {metric.unit}, surely {good} it",
        }
    )


def _where_to_look(metric: str, *, speculates: bool) -> str:
    """Name what tells more of a number beyond its limit, of what a session measures anyway."""
    if metric.startswith("verify"):
        return (
            "see 'Phases of a cycle' in the report, the same row of a good run beside it (tokgate compare): what of "
            "draft, verify, extend and rest has grown; then graph_share"
        )
    if metric == "cycle_ms":
        return "see which phase of the cycle it is: 'Phases of a cycle' in the report, or -m verify"
    if metric == "accept_length":
        return "look at the draft model: is it the one meant, does it fit the target and its tokenizer"
    if metric == "ttft_ms":
        return "it is all before the first token: see prefill in the server's log, and what else ran"
    if not speculates:
        return "it does no speculation: see stored_baseline and drift, then clocks, heat and what else ran"
    return (
        "see which it is, 'Arithmetic' in the report: accept length, or the cycle and its phases; then drift"
    )


def _interval(interval: tuple[float, float], metric: Metric) -> str:
    low, high = interval
    return f"interval {metric.bare(low)}–{metric.bare(high)}"  # noqa: RUF001 - a dash between numbers
