"""What SGLang calls the phases, by source and version: names/phases.toml."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal

from tokgate.records import Record
from tokgate.records.phases import Phase


class PhaseName(Record):
    """One row of names/phases.toml."""

    source: Literal["device-timer", "trace"]
    phase: Phase
    text: str  # a label's value, or how a mark begins
    since: str
    until: str | None = None
    note: str | None = None

    def words(self) -> str:
        span = f"{self.since} and later" if self.until is None else f"up to {self.until}"
        text = f"{self.text} …]" if "[" in self.text else self.text
        return f"{text} (SGLang {span})"


@cache
def phase_names(source: Literal["device-timer", "trace"]) -> tuple[PhaseName, ...]:
    """Return the names of one source, of all versions: none of them ever meant two phases."""
    text = files("tokgate.parsers").joinpath("names", "phases.toml").read_text(encoding="utf-8")
    rows = tuple(PhaseName.model_validate(row) for row in tomllib.loads(text)["name"])
    return tuple(row for row in rows if row.source == source)
