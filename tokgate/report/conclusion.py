"""What a whole session concluded, and the one number the process ends with.

Precedence: internal error, interruption or wrong usage (pytest's own codes) > a failure that no
verdict explains (1) > regressed (13) > invalid (11) > inconclusive (10) > no-baseline (12) > pass (0).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum

from pydantic import Field

from tokgate.records import EXIT_CODES, PRECEDENCE, Outcome, Record, Verdict, worst

from .answer import answer
from .cause import Causes, cause_of
from .leading import PATCH, drift_behind, worst_first
from .visible import one_line

# What a verdict is called that reports a number without promising anything: the rig sets no limit on it.
NOTE = "note"

# Behind the file of a test that pytest could not collect, in front of the reason.
NOT_COLLECTED = ": not collected: "

# pytest's exit codes (https://docs.pytest.org/en/stable/reference/exit-codes.html).
_OK, _TESTS_FAILED, _INTERRUPTED, _NO_TESTS = 0, 1, 2, 5
_PYTEST_SAYS = {
    2: "the session was interrupted before its end",
    3: "pytest met an internal error",
    4: "pytest was called wrongly",
    5: "no test was selected, so nothing was judged",
}


class SessionOutcome(StrEnum):
    """A verdict's outcome, or why there is none that could stand for the session."""

    PASS = "pass"  # noqa: S105 - an outcome, not a password
    IMPROVED = "improved"
    REGRESSED = "regressed"
    INCONCLUSIVE = "inconclusive"
    INVALID = "invalid"
    NO_BASELINE = "no-baseline"
    ERROR = "error"
    INTERRUPTED = "interrupted"


class PartJudged(Record):
    """A part of a stored run, judged again: it answers for itself, and the run's own end stands."""

    selection: str = Field(description="the pytest arguments that this judging was asked with")
    run_outcome: SessionOutcome | None = Field(
        description="how the run itself ended, by its own verdict.json; null: that cannot be read"
    )


class SessionEnd(Record):
    """How the test session itself ended. The default is a session that ran to its end."""

    status: int = 0  # pytest's exit status before the gate speaks
    unclassified: tuple[str, ...] = ()  # ids of tests that failed without a verdict that says so
    part: PartJudged | None = None  # where no more than a part of a stored run was judged again


class Conclusion(Record):
    outcome: SessionOutcome
    exit_code: int
    headline: str
    do: str | None = None


def conclude(
    verdicts: Sequence[Verdict], end: SessionEnd | None = None, causes: Causes | None = None
) -> Conclusion:
    """Return the session's outcome. Nothing judged is `invalid`, never a pass.

    `causes`: what losses are consistent with, by arm and workload; that of the leading verdict stands in the headline.
    """
    end = end or SessionEnd()
    told = counted(verdicts)
    if end.status == _NO_TESTS and not verdicts:
        return Conclusion(
            outcome=SessionOutcome.INVALID,
            exit_code=end.status,
            headline=_PYTEST_SAYS[_NO_TESTS],
            do="check -m and -k: `pytest perf_tests -m eagle3` is the main job",
        )
    uncollected = next((one for one in end.unclassified if NOT_COLLECTED in one), None)
    if end.status == _INTERRUPTED and uncollected is not None:
        file, _, why = one_line(uncollected, 400).partition(NOT_COLLECTED)
        return Conclusion(
            outcome=SessionOutcome.INTERRUPTED,
            exit_code=end.status,
            headline=f"{file} cannot be collected, so no test was run; {told}",
            do=f"fix {file}: {why}; then run the same again",
        )
    if end.status not in (_OK, _TESTS_FAILED, _NO_TESTS):
        return Conclusion(
            outcome=SessionOutcome.INTERRUPTED if end.status == _INTERRUPTED else SessionOutcome.ERROR,
            exit_code=end.status,
            headline=f"{_PYTEST_SAYS.get(end.status, f'pytest ended with status {end.status}')}; so far: {told}",
            do="run it again to its end; what was judged so far stands in the table",
        )
    if end.unclassified or (end.status == _TESTS_FAILED and not _explained(verdicts)):
        first = one_line(end.unclassified[0], 200) if end.unclassified else "pytest reports a failure"
        more = len(end.unclassified) - 1
        return Conclusion(
            outcome=SessionOutcome.ERROR,
            exit_code=_TESTS_FAILED,
            headline=f"failed without a verdict: {first}{f' and {more} more' if more > 0 else ''}; {told}",
            do="read the failure in pytest's own output above: it is a defect of the gate or of a test",
        )
    if not verdicts:
        return Conclusion(
            outcome=SessionOutcome.INVALID,
            exit_code=EXIT_CODES[Outcome.INVALID],
            headline="tests ran but nothing was judged",
            do="see which tests were skipped and why: run again with -ra",
        )
    outcome = worst(v.outcome for v in verdicts)
    headline, do = _deciding(
        [v for v in worst_first(verdicts) if v.outcome is outcome], verdicts, causes or {}
    )
    return Conclusion(
        outcome=SessionOutcome(outcome.value), exit_code=EXIT_CODES[outcome], headline=headline, do=do
    )


def word_of(verdict: Verdict) -> str:
    """Return the outcome as reports show it: a pass that nothing was demanded of is a note, not a pass."""
    unlimited = verdict.outcome is Outcome.PASS and verdict.metric is not None and verdict.floor is None
    return NOTE if unlimited else verdict.outcome.value


def counted(verdicts: Sequence[Verdict]) -> str:
    """Return "7 verdicts: 1 improved, 6 pass"."""
    if not verdicts:
        return "no verdict"
    counts = Counter(word_of(v) for v in verdicts)
    told = [f"{counts[o.value]} {o.value}" for o in PRECEDENCE if counts[o.value]]
    if counts[NOTE]:
        told.append(f"{counts[NOTE]} measured without a limit")
    parts = ", ".join(told)
    return f"{len(verdicts)} verdict{'s' if len(verdicts) != 1 else ''}: {parts}"


def _explained(verdicts: Sequence[Verdict]) -> bool:
    return any(v.outcome in (Outcome.REGRESSED, Outcome.INVALID) for v in verdicts)


def _place(verdict: Verdict) -> tuple[str, str | None, str | None]:
    return verdict.check, verdict.arm, verdict.workload


def _deciding(
    deciding: Sequence[Verdict], verdicts: Sequence[Verdict], causes: Causes
) -> tuple[str, str | None]:
    """Return headline and next step of the session from the verdicts of its outcome, the leading one first."""
    lead = deciding[0]
    do = next((v.do for v in deciding if v.do), None)
    if lead.outcome in (Outcome.PASS, Outcome.IMPROVED):
        return answer(verdicts) or counted(verdicts), do
    first = one_line(lead.headline, 300)
    # Of a change that costs speed the cycle costs as much: that is no second loss.
    others = [v for v in deciding[1:] if lead.check != PATCH or _place(v) != _place(lead)]
    if others:
        first = f"{first} (and {len(others)} more {lead.outcome.value})"
    drift = drift_behind(lead, verdicts) if lead.outcome is Outcome.REGRESSED else None
    if drift is not None:
        # Of several regressions one that the drift does not explain comes first: here none is larger.
        return f"{one_line(drift.headline, 200)}; no regression is larger than that: {first}", drift.do or do
    cause = cause_of(lead, causes)
    return first if cause is None else f"{first}; consistent with {cause}", do
