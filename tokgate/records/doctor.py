"""What `tokgate doctor` found, check by check."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum
from typing import Literal, Self

from .record import Record
from .verdict import EXIT_CODES, Outcome


class State(StrEnum):
    """Mildest first. A check that could not look says `unknown` and why; it never counts as `ok`."""

    OK = "ok"
    NOTE = "note"  # worth knowing; nothing has to be done
    UNKNOWN = "unknown"
    WARN = "warn"  # the gate runs, and something will not be as the rig or the reader expects
    FAIL = "fail"  # a gate started now would end invalid, or with a usage error


class Remark(Record):
    """One thing that a check has to say. `found` and `do` are sentences without a final full stop."""

    state: State
    found: str
    do: str | None = None  # always there for `warn` and `fail`
    tried: str | None = None  # None: what the check looks at says it

    @classmethod
    def ok(cls, found: str) -> Self:
        return cls(state=State.OK, found=found)

    @classmethod
    def note(cls, found: str, do: str | None = None) -> Self:
        return cls(state=State.NOTE, found=found, do=do)

    @classmethod
    def unknown(cls, found: str, do: str | None = None) -> Self:
        return cls(state=State.UNKNOWN, found=found, do=do)

    @classmethod
    def warn(cls, found: str, do: str) -> Self:
        return cls(state=State.WARN, found=found, do=do)

    @classmethod
    def fail(cls, found: str, do: str, *, tried: str | None = None) -> Self:
        return cls(state=State.FAIL, found=found, do=do, tried=tried)


class Examined(Record):
    """A remark with the check that made it, e.g. "models.draft"."""

    check: str
    state: State
    tried: str  # "look whether …"
    found: str
    do: str | None = None

    @property
    def group(self) -> str:
        return self.check.partition(".")[0]


class Examination(Record):
    """One run of `tokgate doctor`, as `--json` prints it."""

    schema_number: Literal[1] = 1
    rig: str
    simulated: bool
    host: str
    at: str  # ISO 8601, UTC
    quick: bool
    seconds: float  # of the whole examination
    results: tuple[Examined, ...]  # in the order of the checks
    check_seconds: dict[str, float] = {}  # check -> what it took, waiting for shared readings included

    @property
    def counts(self) -> Counter[State]:
        return Counter(one.state for one in self.results)

    def exit_code(self, *, strict: bool = False) -> int:
        """0: a gate can start. 11, as the gate itself ends: it would fail; with `strict` warnings and unknowns count too."""
        refused = {State.FAIL, State.WARN, State.UNKNOWN} if strict else {State.FAIL}
        return EXIT_CODES[Outcome.INVALID] if refused & self.counts.keys() else 0
