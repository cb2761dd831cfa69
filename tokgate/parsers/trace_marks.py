"""Which marks of a torch profile are phases of cycles, and which only look like them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tokgate.records.phases import Phase

from .phase_names import phase_names

ROUNDED_US = 1.0  # times are rounded: a mark inside another may seem to end after it


class Mark(NamedTuple):
    at: float  # microseconds, on the trace's own clock
    end: float
    phase: Phase  # STEP: a prefill


def cycles(marks: Iterable[Mark]) -> list[Mark]:
    """Return the marks that belong to cycles or plain decode steps, in order, with a STEP for each whole cycle.

    What lies inside another mark is a draft model's own pass. A draft_extend counts behind a verify only: a prefill
    has one too. A cycle lasts until the next one begins, so that the last one before a prefill or the end has none.
    """
    outer: list[Mark] = []
    for mark in sorted(marks, key=lambda m: (m.at, -m.end)):
        if not outer or mark.end > outer[-1].end + ROUNDED_US:
            outer.append(mark)
    kept: list[Mark] = []
    began: float | None = None
    drafts = any(m.phase is Phase.DRAFT for m in outer)
    first = Phase.DRAFT if drafts else Phase.VERIFY
    before: Phase | None = None
    for mark in outer:
        if mark.phase is Phase.STEP:
            began = None
        elif mark.phase is not Phase.DRAFT_EXTEND or before is Phase.VERIFY:
            kept.append(mark)
        if mark.phase is first:
            if began is not None:
                kept.append(Mark(began, mark.at, Phase.STEP))
            began = mark.at
        before = mark.phase
    return kept


def phase_of(name: str) -> Phase | None:
    """Return what a mark of that name stands for; STEP: a prefill, which ends a row of cycles; None: no phase."""
    return next(
        (
            n.phase
            for n in phase_names("trace")
            if (
                name.startswith((f"{n.text} ", f"{n.text}]"))
                if n.text.startswith("step[")
                else name == n.text
            )
        ),
        None,
    )
