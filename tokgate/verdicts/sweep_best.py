"""Which setting of a sweep is the best, by how much, and how sure that is.

Many comparisons: the best of m settings is compared with each of the others, and so is the arm's own. Each such
interval is at 1 - 0.05 / (m - 1), so that all m - 1 together hold at 95 % (Bonferroni), whichever of them came out
first. Each workload is a question of its own, with its own 95 %. Speed-ups over the twin are told beside, at 95 %
each: nothing is decided by them.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from tokgate.records import LaunchEvidence
from tokgate.records.record import Record
from tokgate.rig.limits import Floor
from tokgate.rig.models import Rig
from tokgate.rig.sweep import LeftOut, left_out, swept_workloads, together
from tokgate.stats.compare import Comparison, compare

from .metrics import METRICS, floor_of
from .sweep_settings import Measured, SweepRow, controls_of, measured_settings

_ERROR = 0.05
_HARDLY = 1000  # starts a setting beyond which nobody measures


class SweepBest(Record):
    """What a sweep says of one workload. `lead` is relative to the runner-up: +0.02 is 2 % faster."""

    workload: str
    best: str | None  # words of the fastest setting; None: none was measured
    launch: str | None = None
    as_good: tuple[str, ...] = ()  # words of all that are not told apart from it, itself included
    runner_up: str | None = None
    lead: float | None = None
    interval: tuple[float, float] | None = None  # of the lead, at `confidence`
    told_apart: bool = False  # faster than every other, established
    worth_calling: bool = False  # and by more than both floors
    more: int | None = (
        None  # starts a setting that would tell the runner-up apart; None: not needed, or hopeless
    )
    confidence: float = 1 - _ERROR  # of each comparison
    comparisons: int = 0
    words: str


class SweepTable(Record):
    arm: str
    rows: tuple[SweepRow, ...]
    best: tuple[SweepBest, ...]  # one a workload
    over_all: str | None = None  # of several workloads: whether one setting serves them all
    left_out: tuple[LeftOut, ...] = ()  # never launched, and why


def sweep_table(rig: Rig, launches: Sequence[LaunchEvidence]) -> SweepTable | None:
    """Return the whole sweep of a run; None where the run has none of its launches."""
    if rig.sweep is None or not any(e.launch.role == "sweep" for e in launches):
        return None
    rows: list[SweepRow] = []
    best: list[SweepBest] = []
    for workload in swept_workloads(rig):
        controls = controls_of(rig, launches, workload.name)
        found = measured_settings(rig, launches, workload.name, controls)
        rows += [m.row for m in found]
        best.append(best_of(rig, found, workload.name))
    return SweepTable(
        arm=rig.sweep.arm,
        rows=tuple(rows),
        best=tuple(best),
        over_all=_over_all(best),
        left_out=left_out(rig),
    )


def confidence_of(settings: int) -> float:
    """Return the confidence of one comparison among so many settings: 0.975 with three."""
    return 1 - _ERROR / max(1, settings - 1)


def best_of(rig: Rig, measured: Sequence[Measured], workload: str) -> SweepBest:
    """Name the fastest of those with numbers, and which others it cannot be told from."""
    ranked = sorted(
        (m for m in measured if m.values), key=lambda m: statistics.median(m.values), reverse=True
    )
    if not ranked:
        return SweepBest(workload=workload, best=None, words="no setting was measured")
    first, others = ranked[0], ranked[1:]
    alone = SweepBest(
        workload=workload,
        best=first.row.words,
        launch=first.row.launch,
        as_good=(first.row.words,),
        words=f"only {first.row.words} was measured",
    )
    if not others:
        return alone
    confidence = confidence_of(len(ranked))
    compared = [compare(first.values, m.values, confidence=confidence) for m in others]
    pairs = list(zip(others, compared, strict=True))
    open_ones = [(m, c) for m, c in pairs if not (c.established and c.ratio > 1)]
    close = [m for m, _ in open_ones]
    # Medians rank, the estimate of the ratio decides: the rival is the one it leads least, of those not told apart.
    rival, lead = min(open_ones or pairs, key=lambda pair: pair[1].ratio)
    floor = floor_of(rig, METRICS[first.row.metric])
    worth = abs(lead.ratio - 1) > floor.relative and (
        abs(lead.ratio - 1) * statistics.median(rival.values) > floor.absolute
    )
    more = _more(lead, floor) if close else None
    return alone.model_copy(
        update={
            "as_good": together_words((first, *close)),
            "runner_up": rival.row.words,
            "lead": lead.ratio - 1,
            "interval": (lead.interval[0] - 1, lead.interval[1] - 1) if lead.interval else None,
            "told_apart": not close,
            "worth_calling": not close and worth,
            "more": more,
            "confidence": confidence,
            "comparisons": len(others),
            "words": _words(first, rival, close, lead=lead, floor=floor, worth=worth, more=more),
        }
    )


def together_words(measured: Sequence[Measured]) -> tuple[str, ...]:
    return tuple(m.row.words for m in measured)


def _words(
    first: Measured,
    rival: Measured,
    close: Sequence[Measured],
    *,
    lead: Comparison,
    floor: Floor,
    worth: bool,
    more: int | None,
) -> str:
    by, unit = percent_with(lead.ratio - 1, lead.interval), METRICS[first.row.metric].unit
    if not close:
        small = "" if worth else f", less than the smallest change worth calling ({floor_words(floor, unit)})"
        return f"{first.row.words} best, by {by} over {rival.row.words}{small}"
    settings = together(
        sorted(
            (m.row.setting for m in (first, *close)), key=lambda s: (s.num_steps, s.topk, s.num_draft_tokens)
        )
    )
    if lead.interval is None:
        need = f"n={min(lead.n_a, lead.n_b)} a setting, {lead.needed} needed"
    elif _within(lead, floor):
        need = f"alike within {floor_words(floor, unit)}"
    elif more is None:
        need = "more starts will hardly tell them apart"
    else:
        need = f"needs about {more} more start{'s' if more != 1 else ''} a setting"
    return f"{settings} not told apart ({by} for {first.row.words} over {rival.row.words}): {need}"


def percent_with(change: float, interval: tuple[float, float] | None) -> str:
    """Return "2.1 % [1.2, 3.0]"; `interval` is of the ratio, or None."""
    span = (
        f" [{(interval[0] - 1) * 100:.1f}, {(interval[1] - 1) * 100:.1f}]" if interval else " (no interval)"
    )
    return f"{change * 100:.1f} %{span}"


def floor_words(floor: Floor, unit: str) -> str:
    return f"{floor.relative * 100:g} % and {floor.absolute:g} {unit}"


def _within(lead: Comparison, floor: Floor) -> bool:
    return lead.interval is not None and all(abs(end - 1) <= floor.relative for end in lead.interval)


def _more(lead: Comparison, floor: Floor) -> int | None:
    """Estimate the further starts a setting; the width of an interval shrinks with the root of n.

    Enough to tell the two apart, or to show that they differ by less than the relative floor, whichever is sooner.
    """
    n = min(lead.n_a, lead.n_b)
    if lead.interval is None:
        return max(1, lead.needed - n)
    if _within(lead, floor):
        return None
    low, high = (math.log(end) for end in lead.interval)
    off = abs(math.log(lead.ratio))
    wanted = max(off, floor.relative - off)
    if wanted == 0:
        return None
    more = max(1, math.ceil(n * ((high - low) / 2 / wanted) ** 2) - n)
    return more if more <= _HARDLY else None


def _over_all(best: Sequence[SweepBest]) -> str | None:
    known = [b for b in best if b.best is not None]
    if len(known) < 2:
        return None
    shared = [w for w in known[0].as_good if all(w in b.as_good for b in known)]
    if shared:
        return f"{' and '.join(shared)}: best, or not told apart from the best, under every workload"
    told = ", ".join(f"{' or '.join(b.as_good)} under {b.workload}" for b in known)
    return f"no setting is best under every workload: {told}"
