"""The two questions of a session on a change to SGLang, answered in words from its verdicts, and what the answers say together."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from itertools import pairwise

from pydantic import Field

from tokgate.records import Outcome, Record, Verdict, worst
from tokgate.rig.models import Rig
from tokgate.verdicts.metrics import METRICS, floor_of
from tokgate.verdicts.questions import SPEED

from . import figures
from .leading import BASELINE, CULPRIT, PATCH
from .visible import one_line

KEPT = (Outcome.PASS, Outcome.IMPROVED)
_MOST = 4  # arms and workloads in one answer; the table has all


class Answered(Record):
    """One of the two questions that a session on a change answers."""

    question: str
    outcome: Outcome | None = Field(description="null: it was not asked with this selection")
    words: str


def patch_answer(verdicts: Sequence[Verdict], subject: str, selection: str = "") -> Answered:
    question = f"Is the server slower with {subject} than without?"
    found = [v for v in verdicts if v.check == PATCH]
    if not found:
        search = next((v for v in verdicts if v.check == CULPRIT), None)
        if search is not None:
            return _answer_of_search(search, question)
        return Answered(
            question=question,
            outcome=None,
            words=f"not measured: {_asked(selection)}, which has no run of the base (-m patch has)",
        )
    outcome = worst(v.outcome for v in found)
    of_it = [v for v in found if v.outcome is outcome]
    lead = of_it[0]
    if outcome is Outcome.INVALID:
        return Answered(question=question, outcome=outcome, words=f"nothing was shown: {_reason(lead)}")
    speeds = [v for v in (of_it if outcome not in KEPT else found) if v.metric in SPEED] or of_it
    told = "; ".join(_moved(v) for v in speeds[:_MOST])
    told += f"; and {len(speeds) - _MOST} more" if len(speeds) > _MOST else ""
    says = {
        Outcome.REGRESSED: "yes",
        Outcome.INCONCLUSIVE: "cannot tell",
        Outcome.IMPROVED: "no, it is faster",
        Outcome.PASS: "no",
    }[outcome]
    return Answered(question=question, outcome=outcome, words=f"{says}: {told}")


def anchor_answer(verdicts: Sequence[Verdict], selection: str = "") -> Answered:
    """`selection`: the pytest arguments of the session, which a reader may not have meant so."""
    question = "Have we crept from the stored baseline?"
    found = [v for v in verdicts if v.check == BASELINE]
    if not found:
        return Answered(
            question=question,
            outcome=None,
            words=f"not compared: {_asked(selection)}, which looks at no stored number (-m eagle3 does)",
        )
    outcome = worst(v.outcome for v in found)
    of_it = [v for v in found if v.outcome is outcome]
    if outcome is Outcome.NO_BASELINE:
        words = "nothing is stored to compare with"
    elif outcome is Outcome.INVALID:
        words = f"nothing was shown: {_reason(of_it[0])}"
    else:
        speeds = [v for v in (of_it if outcome not in KEPT else found) if v.metric in SPEED] or of_it
        says = {
            Outcome.REGRESSED: "yes",
            Outcome.INCONCLUSIVE: "cannot tell",
            Outcome.IMPROVED: "no, it is better",
            Outcome.PASS: "no",
        }[outcome]
        words = f"{says}: {'; '.join(_moved(v) for v in speeds[:_MOST])}"
        words += f"; and {len(speeds) - _MOST} more" if len(speeds) > _MOST else ""
    return Answered(question=question, outcome=outcome, words=words)


def together(
    rig: Rig,
    verdicts: Sequence[Verdict],
    patch: Answered,
    anchor: Answered,
    subject: str,
    *,
    elsewhere: bool,
) -> str | None:
    lost = [v for v in verdicts if v.check == BASELINE and v.outcome is Outcome.REGRESSED]
    lead = next((v for v in lost if v.metric in SPEED), lost[0] if lost else None)
    base = base_of_anchor(verdicts, lead) if lead is not None else None
    if patch.outcome in KEPT and elsewhere:
        told = "" if base is None else f" (the base by {figures.percent(base)})"
        return (
            f"not {subject}: the server is below its stored numbers with and without it{told}. The machine, its environment or "
            "an earlier change has moved"
        )
    if patch.outcome in KEPT and lead is not None and base is not None:
        return (
            f"{subject} alone is within the floor, and the base lies {figures.percent(base)} from the stored number: together "
            "they are beyond it. Small losses add up"
        )
    if patch.outcome is Outcome.REGRESSED and anchor.outcome in KEPT:
        return f"slower than its base, and still within what is stored: without {subject} the server would be better than that"
    if patch.outcome is Outcome.REGRESSED and lead is not None and base is not None:
        floor = floor_of(rig, METRICS[lead.metric or ""]).relative
        return (
            f"it is {subject}, and something else as well: the base lies {figures.percent(base)} from the stored number itself"
            if METRICS[lead.metric or ""].loss(base) > floor
            else f"what is lost since the stored number, {subject} costs: the base holds it ({figures.percent(base)})"
        )
    return None


def base_of_anchor(verdicts: Sequence[Verdict], anchored: Verdict) -> float | None:
    """Return how far the base of a change lies from a stored or fixed number that the head is held against, relative.

    None where the base's number is not known.
    """
    reference = anchored.reference
    if reference is None or not reference.value:
        return None
    for verdict in verdicts:
        same = (verdict.arm, verdict.workload, verdict.metric)
        if (
            verdict.check == PATCH
            and verdict.reference is not None
            and verdict.reference.value is not None
            and same == (anchored.arm, anchored.workload, anchored.metric)
        ):
            return verdict.reference.value / reference.value - 1
    return None


def all_elsewhere(rig: Rig, verdicts: Sequence[Verdict]) -> bool:
    """Say whether something has regressed, and all of it has on the base of the change too, by its own numbers."""
    lost = [v for v in verdicts if v.outcome is Outcome.REGRESSED]
    return bool(lost) and all(_lost_on_base(rig, verdicts, v) for v in lost)


def _lost_on_base(rig: Rig, verdicts: Sequence[Verdict], lost: Verdict) -> bool:
    """Of a metric that a change is not judged by, the speed of the same arm and workload speaks: it makes them all."""
    if lost.reference is None or lost.check == PATCH:
        return False
    if lost.reference.kind not in ("baseline", "budget"):
        return False
    own = base_of_anchor(verdicts, lost)
    if own is None or lost.metric not in METRICS:
        beside = [
            v
            for v in verdicts
            if v is not lost
            and v.check == lost.check
            and v.outcome is Outcome.REGRESSED
            and (v.arm, v.workload) == (lost.arm, lost.workload)
            and v.metric in SPEED
        ]
        return any(_lost_on_base(rig, verdicts, v) for v in beside)
    metric = METRICS[lost.metric]
    least = floor_of(rig, metric).relative if lost.reference.kind == "baseline" else 0.0
    return metric.loss(own) > least


def _asked(selection: str) -> str:
    """Return "this run asked for -m patch": a selection that was mistyped is seen by it."""
    try:
        words = shlex.split(selection)
    except ValueError:
        words = []
    marks = next((f"-m {shlex.quote(after)}" for word, after in pairwise(words) if word == "-m"), None)
    return f"this run asked for {one_line(marks or selection or 'some tests', 80)}"


def _reason(verdict: Verdict) -> str:
    return one_line(verdict.headline.removeprefix(f"{verdict.check} on "), 300)


def _moved(verdict: Verdict) -> str:
    low, high = verdict.interval or (None, None)
    span = "" if low is None else f" ({figures.percent(low)} to {figures.percent(high)})"
    metric = figures.words(verdict.metric) if verdict.metric is not None else ""
    where = f"{one_line(verdict.arm or '', 40)} {one_line(verdict.workload or 'all', 40)}"
    return f"{metric} {figures.percent(verdict.change)}{span} on {where}"


def _answer_of_search(search: Verdict, question: str) -> Answered:
    """A search for the part that costs has measured the whole as well, on its own arm and workload."""
    if search.outcome is Outcome.INVALID:
        return Answered(
            question=question, outcome=search.outcome, words=f"nothing was shown: {_reason(search)}"
        )
    _, high = search.interval or (0.0, 0.0)
    told = f"{_moved(search)}, as the search for the part that costs has measured it"
    if search.outcome is Outcome.REGRESSED and high >= 0:  # one part costs what another gains
        return Answered(
            question=question, outcome=None, words=f"not as a whole, though a part of it costs: {told}"
        )
    says = {
        Outcome.REGRESSED: "yes",
        Outcome.INCONCLUSIVE: "cannot tell",
        Outcome.IMPROVED: "no, it is faster",
    }
    return Answered(
        question=question, outcome=search.outcome, words=f"{says.get(search.outcome, 'no')}: {told}"
    )
