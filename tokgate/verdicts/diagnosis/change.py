"""The cause that a session on a change isolates: the change itself, or the part of it that a search has found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.records import Outcome, Verdict
from tokgate.verdicts.culprit import CulpritPart, CulpritTable, culprit_table
from tokgate.verdicts.culprit_words import amount, units_of
from tokgate.verdicts.metrics import METRICS
from tokgate.verdicts.questions import SPEED
from tokgate.verdicts.side_words import changed_words, subject_words

from . import names
from .case import Case
from .cause import Cause, Explained, Strength
from .family import Found
from .losses import BESIDE
from .telling import taken

_HEAD_AGAINST_BASE = "head against base"
_SEARCH = "servers with it and without it"


def change(case: Case, found: Found) -> Iterator[Cause]:  # noqa: ARG001 - a family's signature
    """Name what a loss is called for: nothing else differs between the two sides."""
    lost = case.verdicts_of("culprit", outcomes=(Outcome.REGRESSED,))
    if lost:
        yield from _found_by_search(case, lost[0])
    lost = case.verdicts_of("patch", outcomes=(Outcome.REGRESSED,))
    if lost:
        told = tuple(
            _explained(v) for v in lost if v.metric in SPEED and v.change is not None and v.change < 0
        )
        what = changed_words(case.run.sides) or subject_words(case.rig.sides)
        yield Cause(
            name=names.CHANGE,
            strength=Strength.ISOLATED,
            words=f"{what}: {taken(told)}" if told else lost[0].headline,
            explains=told,
            evidence_for=(lost[0].headline,),
            do=lost[0].do or "read the change",
            isolated_by=_HEAD_AGAINST_BASE,
        )


def _found_by_search(case: Case, verdict: Verdict) -> Iterator[Cause]:
    table = culprit_table(case.rig, case.run.launches, case.run.sides)
    if table is None:
        return
    parts = table.called() or table.spread
    named = bool(parts)
    yield Cause(
        name=names.PART_OF_CHANGE if named else names.CHANGE,
        strength=Strength.ISOLATED,
        words="; ".join(f"{units_of(part)} costs {amount(part)}" for part in parts) or verdict.headline,
        explains=_shares(table) if METRICS[table.metric].better == "higher" else (),
        evidence_for=verdict.evidence[: max(1, len(parts))],
        do=verdict.do or "read it",
        isolated_by=_SEARCH if named else _HEAD_AGAINST_BASE,
    )


def _shares(table: CulpritTable) -> tuple[Explained, ...]:
    """Return what each part takes of the whole; where another part gains, the whole is less than one part alone."""
    parts: Sequence[CulpritPart] = table.called() or table.spread or (table.whole,)
    return tuple(
        Explained(
            arm=table.arm,
            workload=table.workload,
            against=BESIDE,
            loss=table.whole.cost,
            share=part.cost,
            interval=part.interval,
            by="server runs with it and without it",
        )
        for part in sorted(parts, key=lambda p: -p.cost)
    )


def _explained(verdict: Verdict) -> Explained:
    low, high = verdict.interval or (None, None)
    loss = -(verdict.change or 0.0)
    return Explained(
        arm=verdict.arm or "",
        workload=verdict.workload or "",
        against=BESIDE,
        loss=loss,
        share=loss,
        interval=None if low is None or high is None else (-high, -low),
        by="server runs of head and base",
    )
