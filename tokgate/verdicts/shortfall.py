"""Why something may not be judged."""

from __future__ import annotations

from tokgate.records.record import Record


class Shortfall(Record):
    what: str
    do: str  # the next step of whoever reads it
    evidence: tuple[str, ...] = ()
