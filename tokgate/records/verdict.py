"""What a check concluded, and what follows for the process's exit code."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Literal

from .host import Difference
from .record import Record


class Outcome(StrEnum):
    PASS = "pass"  # noqa: S105 - an outcome, not a password
    IMPROVED = "improved"
    REGRESSED = "regressed"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"  # the bench, not the code, is at fault
    NO_BASELINE = "no-baseline"


# Worst first: a regression whose own window is valid outranks a fault elsewhere in the session.
PRECEDENCE = (
    Outcome.REGRESSED,
    Outcome.INVALID,
    Outcome.INCONCLUSIVE,
    Outcome.NO_BASELINE,
    Outcome.IMPROVED,
    Outcome.PASS,
)

EXIT_CODES = {
    Outcome.PASS: 0,
    Outcome.IMPROVED: 0,
    Outcome.INCONCLUSIVE: 10,
    Outcome.INVALID: 11,
    Outcome.NO_BASELINE: 12,
    Outcome.REGRESSED: 13,
}


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome that decides a session; nothing judged is `invalid`, never a pass."""
    seen = set(outcomes)
    return next((o for o in PRECEDENCE if o in seen), Outcome.INVALID)


class Reference(Record):
    """What a value was compared with."""

    kind: Literal["budget", "twin", "side", "baseline", "server", "truth"]
    label: str  # "baseline arm of this session", "baselines/h200/1f0c….json", "floor 80 tok/s"
    value: float | None = None
    n: int | None = None


class Verdict(Record):
    check: str  # the promise: name of the perf_test
    outcome: Outcome
    headline: str  # one sentence that can stand alone in a terminal
    arm: str | None = None
    launch: str | None = None
    launches: tuple[str, ...] = ()  # of an arm: all server runs behind the number, `launch` the first of them
    workload: str | None = None
    host: str | None = None  # of a pool, by its name; None: the session has one host
    metric: str | None = None
    value: float | None = None
    unit: str | None = None
    n: int = 0
    interval: tuple[float, float] | None = None  # of the value, or of the change when there is a reference
    reference: Reference | None = None
    change: float | None = None  # relative: +0.02 is 2 % more than the reference
    floor: str | None = None  # the smallest change this rule would call, in words
    smallest: float | None = None  # the smallest relative loss that this comparison would have called
    level: float | None = None  # one-sided chance of a false alarm that this comparison was given
    needs: str | None = None  # what would settle it: "2 more restarts of eagle3-2step"
    # Arm -> further server runs in this session that would settle it; "ARM+phases": of its launch with instruments.
    # Empty: settled, or nothing that a session can measure would settle it. The stop rule goes by this.
    wanted: dict[str, int] = {}
    evidence: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    differs: tuple[Difference, ...] = ()  # settings or facts that differ from the reference
    do: str | None = None  # what to do next; always set unless pass or improved
    raw: tuple[str, ...] = ()  # files in the run folder that the value was computed from
