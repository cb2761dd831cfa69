"""One row of the final table: which check, of what and where, and its numbers."""

from __future__ import annotations

import re

from tokgate.records import Outcome, Verdict

from . import figures
from .leading import TWIN
from .visible import columns, fit, fit_middle, one_line

_SHORTEST_CHECK = 14  # of "verify_latency"
_SHORTEST_PLACE = 14  # tells one launch and workload of a session from the others
_SHORTEST_LAUNCH = 6
KEPT = (Outcome.PASS, Outcome.IMPROVED)
_SPEED_UP = re.compile(r"at least ([\d.]+x)\b")  # of a twin's floor
_SHORTEST = {"unit": None, "n": 0, "reference": None}
# Check and metric -> what a row says of the metric beside the check's name.
_BESIDE = {
    ("acceptance_length", "accept_length"): "",
    ("cycle_time", "cycle_ms"): "",
    ("decode_throughput", "decode_tok_s"): "",
    ("time_to_first_token", "ttft_ms"): "",
    ("verify_latency", "verify_ms"): "p50",
    ("verify_latency", "verify_p95_ms"): "p95",
    ("verify_share", "verify_share"): "",
}


def what_of(verdict: Verdict) -> str:
    """Return check, metric and place: "decode_throughput 02-eagle3-2step/single"."""
    parts = (one_line(verdict.check, 60), metric_of(verdict), place_of(verdict))
    return " ".join(part for part in parts if part)


def beside(verdict: Verdict, room: int) -> str:
    """Put check, metric and place on the left of a row of `room` columns, numbers on its right.

    n gives way first, then the unit, which the metric's name tells as well, then the ends of the check's
    name and of the place, last that of the metric.
    """
    check, place, numbers = one_line(verdict.check, 60), place_of(verdict), figures_of(verdict)
    metric = metric_of(verdict)
    without_n = figures_of(verdict.model_copy(update={"n": 0}))
    # The unit is missed unless the whole name of the metric stands there.
    named = metric and metric == verdict.metric
    bare = figures_of(verdict.model_copy(update={"unit": None, "n": 0})) if named else without_n
    for kept in (numbers, without_n, bare):
        told = fit("  ".join(kept), room // 2)
        if columns(f"{check} {metric} {place}  {told}") <= room:
            break
    else:
        if columns(told) + columns(metric) + _SHORTEST_CHECK + _SHORTEST_PLACE + 4 > room:
            told = fit("  ".join(figures_of(verdict.model_copy(update=_SHORTEST))), room // 2)
    free = room - columns(told) - 4
    least = min(columns(check), _SHORTEST_CHECK)
    place = _cut_place(verdict, max(free - columns(metric) - least, _SHORTEST_PLACE))
    check = fit(check, max(free - columns(metric) - columns(place), _SHORTEST_CHECK))
    metric = fit(metric, free - columns(place) - columns(check))
    left = fit(" ".join(part for part in (check, metric, place) if part), room - columns(told) - 2)
    return f"{left}{' ' * max(room - columns(left) - columns(told), 2)}{told}".rstrip()


def metric_of(verdict: Verdict) -> str:
    """Return the metric's name, or what is left of it where the check is named after it."""
    metric = one_line(verdict.metric or "", 40)
    return _BESIDE.get((verdict.check, metric), metric)


def place_of(verdict: Verdict) -> str:
    """Return "02-eagle3-2step/single": the launch rather than the arm, for the control arm has two."""
    about = verdict.launch or verdict.arm or (f"@{verdict.host}" if verdict.host else None)
    return "/".join(one_line(p, 60) for p in (about, verdict.workload) if p)


def _cut_place(verdict: Verdict, room: int) -> str:
    """Cut the launch's name in its middle before the workload's: its number and its end tell it from others."""
    place, workload = place_of(verdict), one_line(verdict.workload or "", 60)
    left = room - columns(workload) - 1
    if columns(place) <= room or not workload or left < _SHORTEST_LAUNCH:
        return fit(place, room)
    name = one_line(verdict.launch or verdict.arm or "", 60)
    cut = fit_middle if left >= _SHORTEST_PLACE else fit  # of a few letters an end says nothing
    return f"{cut(name, left)}/{workload}"


def figures_of(verdict: Verdict) -> tuple[str, ...]:
    unit = one_line(verdict.unit or "", 12)
    told = (
        None if verdict.value is None else figures.quantity(verdict.value, unit, verdict.metric),
        _limit(verdict),
        _change(verdict),
        f"n={verdict.n}" if verdict.n else None,
    )
    return tuple(text for text in told if text is not None)


def _change(verdict: Verdict) -> str | None:
    """Return "-2.1 %"; of a note that may be nothing, "+13.1 % (-9.5 to +41.3)": the number alone would look like a finding."""
    if verdict.change is None:
        return None
    told = figures.percent(verdict.change)
    if verdict.interval is None or verdict.floor is not None or verdict.outcome not in KEPT:
        return told
    low, high = verdict.interval
    return f"{told} ({low * 100:+.1f} to {high * 100:+.1f})" if low <= 0 <= high else told


def _limit(verdict: Verdict) -> str | None:
    """Return "limit 20.0" of a verdict on a limit: two of one metric are told apart by it.

    One that the run's own break-even gave says so. Of a twin that falls short it is the speed-up asked for.
    """
    reference = verdict.reference
    if verdict.check == TWIN and verdict.outcome not in KEPT:
        asked = _SPEED_UP.match(verdict.floor or "")
        return f"limit {asked[1]}" if asked is not None else None
    if reference is None or reference.kind != "budget" or reference.value is None:
        return None
    derived = "derived " if reference.label.startswith("break-even") else ""
    return f"{derived}limit {figures.in_unit(reference.value, verdict.unit, verdict.metric)}"
