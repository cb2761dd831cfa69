"""How a verdict on a limit from break-even reads, with the numbers that the limit was derived from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tokgate.records import Outcome, Reference, Verdict
from tokgate.stats.decision import Decision
from tokgate.stats.summary import summarise

from .derived_limit import DerivedLimit
from .establish import Established
from .metrics import Metric
from .twins import ALONE, decode_ms, drift_of, drift_words, drifts_beyond


def in_words(
    told: Verdict,
    case: DerivedLimit,
    decision: Decision,
    *,
    twins: Sequence[Established],
    on: str,
    inputs: Iterable[str],
) -> Verdict:
    """Return `told`, the decision's verdict, with its headline and with what the limit was derived from.

    `inputs`: lines on the judged runs.
    """
    metric, limit = case.metric, case.limit
    over = (1 + case.margin) * (1 + decision.change)
    ratio = case.ratio(over) if limit is not None else None
    ends = _ends(decision, case) if limit is not None else None
    although, why = ("", "") if decision.outcome is Outcome.PASS else (case.although, case.room)
    label = case.label if limit is None else f"{case.label} ({metric.bare(limit)} {case.given})"
    tail = case.no_room
    if ratio is not None:
        tail = f"{ratio:.3f} of the limit" + (f", interval {_span(ends, 3)}" if ends else "")
    needs = f"; needs {told.needs}" if told.needs is not None else ""
    how = _how(decision, case, twins)
    value = f"{metric.words} {metric.text(case.value)} on {on}"
    each = [(t.launch.launch.id, decode_ms(t)) for t in twins]
    return told.model_copy(
        update={
            "headline": f"{value} {how} {label}{although}: {why}{tail}{needs}",
            "reference": Reference(
                kind="budget", label=case.label, value=limit, n=sum(len(ms) for _, ms in each)
            ),
            "floor": f"{case.label}, surely kept",
            "evidence": (
                f"value / limit: {tail}",
                f"the value itself: {_told_value(told, metric)}",
                case.arithmetic(),
                *inputs,
                *(f"a plain token of {name}: {told_with_span(ms, 2)} ms, n={len(ms)}" for name, ms in each),
                *drift_words(twins, "decode_tok_s"),
                *told.evidence,
            ),
            "warnings": (*told.warnings, *((ALONE,) if len(twins) == 1 else ())),
            "raw": (*told.raw, *(r for t in twins for r in t.raw)),
        }
    )


def _how(decision: Decision, case: DerivedLimit, twins: Sequence[Established]) -> str:
    """Say how the value stands to its limit: `loss` is how much more of a cycle it takes than it may."""
    if decision.outcome is Outcome.PASS:
        return "keeps"
    if decision.outcome is Outcome.REGRESSED:
        return "misses"
    if drifts_beyond(twins, "decode_tok_s", decision.loss):
        return f"is not judged (the controls drift by {drift_of(twins, 'decode_tok_s'):.1%}) against"
    if decision.established:
        return "misses (not confirmed by restarts)"
    low, high = ((1 + case.margin) * (1 + change) for change in decision.interval)
    if low <= 1 <= high:
        return "straddles"
    return "keeps (not surely)" if decision.loss <= 0 else "misses (not surely)"


def _ends(decision: Decision, case: DerivedLimit) -> tuple[float, float] | None:
    """Return the interval of value / limit; None where its far end has no limit left."""
    ends = [case.ratio((1 + case.margin) * (1 + change)) for change in decision.interval]
    known = sorted(end for end in ends if end is not None)
    return (known[0], known[1]) if len(known) == 2 else None


def _told_value(measured: Verdict, metric: Metric) -> str:
    span = "" if measured.interval is None else f" ({_span(measured.interval, metric.decimals)})"
    return f"{metric.text(measured.value or 0.0)}{span}, n={measured.n}"


def told_with_span(values: Sequence[float], decimals: int) -> str:
    """Return the median of some starts, with its interval where they are enough for one."""
    summary = summarise(values)
    span = f" ({_span(summary.interval, decimals)})" if summary.interval else ""
    return f"{summary.median:.{decimals}f}{span}"


def _span(ends: tuple[float, float] | None, decimals: int) -> str:
    return "" if ends is None else f"{ends[0]:.{decimals}f}–{ends[1]:.{decimals}f}"  # noqa: RUF001 - a dash between numbers
