"""The ranked causes as reports show them: a few lines in a terminal, a table in summary.md and report.html."""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path

from tokgate.records import RunEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.diagnosis import names
from tokgate.verdicts.diagnosis.cause import Cause, Diagnosis, Explained, Strength
from tokgate.verdicts.diagnosis.ranking import diagnose
from tokgate.verdicts.diagnosis.stored import baselines_in
from tokgate.verdicts.diagnosis.telling import percent, taken

from . import figures
from .visible import one_line

COLUMNS = ("cause", "strength", "explains", "of", "where", "next")
MOST = 3  # in a terminal; the rest stands in report.html
NOTE = (
    "A cause is consistent with the evidence until an A/B isolates it: two sides that differ in it alone. proven: seen "
    "directly, and the numbers are void for it. Shares are of the tok/s of the arm and workload that is named, each cause "
    "alone; those of one arm and workload multiply. "
    "docs/diagnosis.md says how each is found."
)
FAILED = "the diagnosis failed"
_NUMBERS = (2, 3)


def diagnosis_of(
    rig: Rig, evidence: RunEvidence, verdicts: Sequence[Verdict], folder: Path | None
) -> Diagnosis:
    """Diagnose a run against the copies of the baselines that lie in its folder.

    A diagnosis explains verdicts and never changes one: where it fails itself, that is its note, and the report is written.
    """
    try:
        stored = baselines_in(folder, rig, evidence) if folder is not None else {}
        return diagnose(rig, evidence, verdicts, stored)
    except Exception as error:  # noqa: BLE001 - whatever it is, verdicts are not lost for it
        return Diagnosis(note=_failed(error))


def numeric(column: int) -> bool:
    return column in _NUMBERS


def cells(cause: Cause) -> tuple[str, ...]:
    """Return one row in the order of COLUMNS; nothing is escaped yet."""
    first: Explained | None = cause.explains[0] if cause.explains else None
    most = "at most " if first is not None and first.at_most else ""
    return (
        cause.name,
        strength(cause),
        figures.NONE if first is None else f"{most}{percent(first.share)}",
        figures.NONE if first is None else percent(first.loss),
        figures.NONE if first is None else f"{first.arm} {first.workload}",
        cause.do,
    )


def strength(cause: Cause) -> str:
    """Return the word, and what isolated it."""
    return cause.strength.value + (f" by {cause.isolated_by}" if cause.isolated_by is not None else "")


def details(cause: Cause) -> Iterator[str]:
    """Yield the sentence, then the evidence for and against it."""
    yield cause.words
    for explained in cause.explains:
        yield (
            f"{taken([explained])}, against {explained.against}: {explained.by}"
            + (f" (95 % {_interval(explained.interval)})" if explained.interval is not None else "")
        )
    for line in cause.evidence_for:
        yield f"for it: {line}"
    for line in cause.evidence_against:
        yield f"against it: {line}"


def excluded(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield "heat: no card was held back in any of 24 windows", one a cause that it is not."""
    for cause in diagnosis.excluded:
        yield f"{cause.name}: {cause.words}" + (
            f" (isolated by {cause.isolated_by})" if cause.isolated_by is not None else ""
        )


def accounted(diagnosis: Diagnosis) -> Iterator[str]:
    """Yield "host slower: rest 0.44 ms after 0.17, accounted for by verify without a graph", one a change that is no cause."""
    for cause in diagnosis.accounted:
        yield f"{cause.name}: {cause.words}"


def failed(diagnosis: Diagnosis) -> bool:
    """Say whether there is no cause because looking for one failed."""
    return diagnosis.note is not None and diagnosis.note.startswith(FAILED)


def next_step(diagnosis: Diagnosis) -> str | None:
    """Return what the first cause asks to be done; None where no cause is named."""
    told = _told(diagnosis)
    return one_line(told[0].do, 600) if told else None


def lines(diagnosis: Diagnosis, *, lost: bool = False, of_change: bool = False) -> Iterator[tuple[str, int]]:
    """Yield what a terminal says, first cause first, and how many lines each may take; the next step is not among them.

    `lost`: something has regressed, so that nothing named is told as well. `of_change`: a change decides, whose headline says
    what costs and in which phase; what else the machine may have had against it, it had against its base.
    """
    if failed(diagnosis):
        yield f"no cause is named: {one_line(diagnosis.note or '', 400)}", 3
    told = _told(diagnosis)
    if of_change:
        told, lost = [c for c in told if c.name not in names.OF_A_CHANGE | names.OF_A_CYCLE], False
    for number, cause in enumerate(told, start=1):
        what = taken(cause.explains) if cause.explains else one_line(cause.words, 160)
        yield f"cause {number}, {cause.strength.value}: {cause.name}: {what}", 2 if number == 1 else 1
    if not told and lost and not failed(diagnosis):
        yield (
            f"no cause is named: {one_line(diagnosis.note or 'what there is is weak, see report.html', 400)}",
            4,
        )
    if not of_change and (told or (lost and not failed(diagnosis))):
        more = len([c for c in diagnosis.causes if c not in told])
        not_it = ", ".join(dict.fromkeys(c.name for c in diagnosis.excluded))
        rest = f"{more} more in report.html; " if more else ""
        if not_it:
            yield f"{rest}not: {not_it}", 2


def _told(diagnosis: Diagnosis) -> list[Cause]:
    return [c for c in diagnosis.causes if c.strength is not Strength.WEAK][:MOST]


def _failed(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{FAILED} ({type(error).__name__} {one_line(str(error), 100)}, {Path(place.filename).name} line {place.lineno}): "
        "the verdicts do not depend on it and stand; please report it with the run folder"
    )


def _interval(interval: tuple[float, float]) -> str:
    low, high = interval
    return f"{percent(high)} to {percent(low)}"
