"""A value against the limits of the rig, judged by its interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tokgate.records import LaunchEvidence, Outcome, Reference, Summary, Verdict
from tokgate.rig.models import Budget, Rig
from tokgate.stats.summary import needed_for_interval, summarise

from .establish import Established, invalid
from .metrics import METRICS, Metric
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
    launch = established.launch.launch
    return launch.id if launch.role == "control-again" else launch.arm


def judge_metric(
    rig: Rig,
    established: Established,
    metric_name: str,
    *,
    check: str,
    evidence: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
    derive: Derive | None = None,
) -> tuple[Verdict, ...]:
    """Return one verdict per limit that the rig sets for this metric, arm and workload.

    `derive` judges limits that are a margin to break-even; None where the metric has none. Of fixed limits:
    regressed: the whole interval of the median lies beyond the limit. pass: it lies wholly
    within. inconclusive: it straddles the limit, or there are too few values to have one.
    Without any limit the measured value itself is the verdict, a pass that names no reference.
    """
    metric = METRICS[metric_name]
    series = established.series.get(metric_name)
    launch = established.launch.launch
    if series is None:
        shortfall = Shortfall(
            what=f"{metric.name} is unknown: {established.why_missing(metric_name)}",
            do="see the raw bodies; this server version may not tell it on this endpoint",
        )
        return (
            invalid(
                check,
                [shortfall],
                launch=established.launch,
                workload=established.workload,
                metric=metric_name,
                raw=established.raw,
            ),
        )
    summary = summarise(series.values)
    measured = Verdict(
        check=check,
        outcome=Outcome.PASS,
        headline=f"{metric.words} {metric.text(summary.median)} on {subject(established)}: "
        f"no budget set, {_interval(summary, metric)}",
        arm=launch.arm,
        launch=launch.id,
        workload=established.workload,
        metric=metric_name,
        value=summary.median,
        unit=metric.unit,
        n=summary.n,
        interval=summary.interval,
        evidence=(f"source: {'; '.join(series.sources)}", *evidence),
        warnings=(*series.warnings, *summary.warnings, *warnings),
        raw=established.raw,
    )
    budgets = budgets_on(rig, established.launch, established.workload, (metric_name,))
    if not budgets:
        return (measured,)
    on = subject(established)
    look = _where_to_look(metric_name, speculates="accept_length" in established.series)
    fixed = [
        _against(kind, limit, measured=measured, summary=summary, metric=metric, on=on, look=look)
        for budget in budgets
        for kind, limit in _limits(budget)
    ]
    margins = [b.break_even_margin for b in budgets if b.break_even_margin is not None]
    if margins and derive is None:
        what = f"{metric_name} has no break-even: its limit cannot be derived"
        shortfall = Shortfall(what=what, do="give it at_least or at_most in the rig")
        found = invalid(check, [shortfall], launch=established.launch, workload=established.workload)
        return (*fixed, found)
    return (*fixed, *(derive(margin, measured) for margin in margins if derive is not None))


def _limits(budget: Budget) -> tuple[tuple[str, float], ...]:
    named = (("floor", budget.at_least), ("ceiling", budget.at_most))
    return tuple((kind, limit) for kind, limit in named if limit is not None)


def _against(
    kind: str, limit: float, *, measured: Verdict, summary: Summary, metric: Metric, on: str, look: str
) -> Verdict:
    value = f"{metric.words} {metric.text(summary.median)} on {on}"
    bound = f"the {kind} {limit:g}"
    do: str | None = None
    if summary.interval is None:
        outcome = Outcome.INCONCLUSIVE
        more = needed_for_interval(summary.confidence) - summary.n
        words = f"{bound} not judged, n={summary.n} needs {more} more"
        do = f"raise repeats of {measured.workload} by {more}"
    else:
        low, high = summary.interval
        if (low >= limit) if kind == "floor" else (high <= limit):
            outcome, words = Outcome.PASS, f"{'above' if kind == 'floor' else 'below'} {bound}"
        elif (high < limit) if kind == "floor" else (low > limit):
            outcome, words = Outcome.REGRESSED, f"{'below' if kind == 'floor' else 'above'} {bound}"
            do = look
        else:
            outcome, words = Outcome.INCONCLUSIVE, f"{bound} lies inside the interval"
            do = f"raise repeats of {measured.workload} (n={summary.n} now), or quieten the machine"
        words = f"{words}, {_interval(summary, metric)}"
    return measured.model_copy(
        update={
            "outcome": outcome,
            "headline": f"{value}: {words}",
            "reference": Reference(kind="budget", label=f"{kind} {limit:g} {metric.unit}", value=limit),
            "floor": f"{kind} {limit:g} {metric.unit}, the whole interval {'above' if kind == 'floor' else 'below'} it",
            "do": do,
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


def _interval(summary: Summary, metric: Metric) -> str:
    if summary.interval is None:
        return f"n={summary.n}, no interval"
    low, high = summary.interval
    return f"interval {metric.bare(low)}–{metric.bare(high)}"  # noqa: RUF001 - a dash between numbers
