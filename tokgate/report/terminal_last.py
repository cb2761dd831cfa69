"""The last words on a screen, below pytest's own closing line: how it ended, why, and what to do next."""

from __future__ import annotations

from tokgate.records import Outcome

from . import diagnosed, simulated
from .conclusion import SessionOutcome
from .may_merge import ended, whole
from .paint import painted, shout
from .run_named import with_run
from .terminal import WIDTH
from .terminal_rows import what_of
from .verdict_file import VerdictFile
from .visible import fit, one_line, wrapped

_REASON_LINES = 4
_NEXT_LINES = 8  # a command that is cut short helps nobody
_MEANING = {
    SessionOutcome.PASS: "every promise holds",
    SessionOutcome.IMPROVED: "every promise holds, and something is faster",
    SessionOutcome.REGRESSED: "slower than allowed, established",
    SessionOutcome.INCONCLUSIVE: "this run could not see enough to say",
    SessionOutcome.INVALID: "the bench, not the code, is at fault",
    SessionOutcome.NO_BASELINE: "nothing is stored to compare with",
    SessionOutcome.INTERRUPTED: "stopped before its end",
}
_OF_A_PART = {
    SessionOutcome.PASS: "every promise that was asked for holds",
    SessionOutcome.IMPROVED: "what was asked for holds, and something is faster",
}
# pytest's own codes, of the outcome `error` and of a session that selected nothing.
_CODES = {
    1: "a test failed for a reason that no verdict explains",
    3: "pytest met an internal error",
    4: "pytest was called wrongly",
    5: "no test was selected",
}


def last_words(
    file: VerdictFile, folder: str, *, page: str, colour: bool, width: int = WIDTH, given: str = ""
) -> list[str]:
    """Return lines of at most `width` columns. `page`: report.html; `given`: options of this run that no record keeps."""
    width = min(width, WIDTH)
    word = file.outcome.value
    mark = f"{simulated.WORD} " if file.simulated else ""
    # Two columns stand between "tokgate" and the word, as in the block above.
    rest = fit(f", exit code {file.exit_code}: {meaning(file)}", width - len(word) - len(mark) - 9)
    lines = [f"tokgate  {mark}{painted(shout(word), word, colour=colour)}{rest}"]
    if file.part is not None:
        told = f"a part of a stored run, judged again ({file.part.selection}); {ended(file.part)}"
        lines += wrapped(told, width, indent="  ", most=_REASON_LINES)
    worst = next((v for v in file.verdicts if v.outcome.value == word), None)
    failing = worst is not None and worst.outcome not in (Outcome.PASS, Outcome.IMPROVED)
    if worst is not None and failing:
        lines.append(f"  {fit(what_of(worst), width - 2)}")
    if failing or not file.verdicts or word in ("error", "interrupted"):
        lines += wrapped(file.headline, width, indent="  ", most=_REASON_LINES)
    step = diagnosed.next_step(file.diagnosis, given=given) or file.do
    if step and word not in ("pass", "improved"):
        lines += wrapped(with_run(step, folder), width, first="next: ", indent="      ", most=_NEXT_LINES)
    else:
        lines += wrapped(one_line(page, 1000), width, first="see:  ", indent="      ")
    return lines


def meaning(file: VerdictFile) -> str:
    """Return the exit code in words."""
    if file.outcome in _OF_A_PART and (file.part is not None or not whole(file.run.selection)):
        return _OF_A_PART[file.outcome]
    return _CODES.get(file.exit_code) or _MEANING.get(file.outcome, "see above")
