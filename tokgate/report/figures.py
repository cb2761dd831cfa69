"""Numbers as people read them. Unknown is written as such and never as 0."""

from __future__ import annotations

import math

from tokgate.records import Verdict
from tokgate.verdicts.metrics import METRICS

UNKNOWN = "unknown"
OF_STEPS = "of all steps"  # the unit of a share of steps, which people read in per cent
NONE = "\N{EN DASH}"  # does not apply, or was not measured: never 0


def number(value: float | None, metric: str | None = None) -> str:
    """Format with the metric's decimals, or with four significant digits where there is no such metric."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    known = METRICS.get(metric or "")
    if known is not None and abs(value) >= 10.0**-known.decimals:
        return f"{value:.{known.decimals}f}"
    if value == int(value) and abs(value) < 1e6:
        return str(int(value))
    size = math.floor(math.log10(abs(value)))
    if -4 <= size < 9:
        return f"{value:.{max(3 - size, 0)}f}"
    return f"{value:.3e}"


def quantity(value: float | None, unit: str | None, metric: str | None = None) -> str:
    if unit == OF_STEPS and value is not None and math.isfinite(value):
        return f"{value * 100:.4g}% of steps"
    text = in_unit(value, unit, metric)
    return text if text == UNKNOWN or not unit else f"{text} {unit}"


def in_unit(value: float | None, unit: str | None, metric: str | None) -> str:
    """Hundredths of a per cent are enough of any: more digits are none that were measured."""
    if unit in ("%", "% sd") and metric is None and value is not None and math.isfinite(value):
        return f"{value:.2f}"
    return number(value, metric)


def optional(value: float | None, metric: str | None = None) -> str:
    """Format a table cell that may have nothing to say."""
    return NONE if value is None else number(value, metric)


def percent(change: float | None) -> str:
    """Format a relative change: 0.02 is +2.0 %."""
    if change is None or not math.isfinite(change):
        return UNKNOWN
    return f"{change * 100:+z.1f} %"  # z: no "-0.0"


def interval(verdict: Verdict) -> str:
    """Format a verdict's interval: of the change when it has one, of the value otherwise."""
    if verdict.interval is None:
        return UNKNOWN
    low, high = verdict.interval
    if verdict.change is not None:
        return f"{percent(low)} … {percent(high)}"
    ends = (in_unit(end, verdict.unit, verdict.metric) for end in (low, high))
    told = " … ".join(ends)
    return told if not verdict.unit else f"{told} {verdict.unit}"


def words(metric: str) -> str:
    """Return the metric's name for people."""
    known = METRICS.get(metric)
    return known.words if known is not None else metric


def better(metric: str) -> str | None:
    """Return "higher" or "lower"; None for a metric that is not in the table."""
    known = METRICS.get(metric)
    return known.better if known is not None else None
