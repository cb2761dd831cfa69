"""The last words on a screen, below pytest's own closing line: how it ended, why, and what to do next."""

from __future__ import annotations

import re

from tokgate.records import Outcome

from . import diagnosed, simulated
from .commands import commands, of_the_machine, to_fill_in
from .conclusion import SessionOutcome
from .given import with_given
from .leading import of_the_change
from .may_merge import ended, whole
from .paint import painted, shout
from .run_named import with_run
from .terminal import WIDTH
from .terminal_rows import what_of
from .verdict_file import VerdictFile
from .visible import fit, one_line, wrapped

_REASON_LINES = 4
# The program and its first word, where that is no path.
_BEGINS = re.compile(r"^(\S+(?: '[^']*'| [^\s/]+(?= ))?).*$")
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
    """Return lines of at most `width` columns, but for a path or a command to be pasted, which is never broken.

    `page`: report.html; `given`: options of this run that no evidence names, for commands that measure again.
    """
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
    step = None if of_the_change(file.verdicts) else diagnosed.next_step(file.diagnosis)
    step = step or file.do
    if step and word not in ("pass", "improved"):
        lines += _next(with_given(step, given), folder, width, simulated_rig=file.simulated)
    else:
        lines += wrapped(one_line(page, 1000), width, first="see:  ", indent="      ", whole=True)
    return lines


def _next(step: str, folder: str, width: int, *, simulated_rig: bool) -> list[str]:
    """Return the next step in words; of its commands those that a line end would break follow, each as one line to paste."""
    words = with_run(step, folder)
    lines = _folded(words, width)
    broken = [
        command
        for command in commands(step, folder)
        if not any(command in line for line in lines) and not (simulated_rig and of_the_machine(command))
    ]
    for command in broken:
        words = words.replace(command, _BEGINS.sub(r"\1 …", command))
    # A command that begins at the margin can be marked from there to the end of its line, however often a terminal folds it.
    return [*_folded(words, width), *map(_to_paste, broken)]


def _to_paste(command: str) -> str:
    gap = to_fill_in(command)
    return one_line(command if gap is None else f"fill in {gap}, then: {command}", 1000)


def _folded(words: str, width: int) -> list[str]:
    return wrapped(words, width, first="next: ", indent="      ", most=_NEXT_LINES, whole=True)


def meaning(file: VerdictFile) -> str:
    """Return the exit code in words."""
    if file.outcome is SessionOutcome.INVALID and file.patch is not None and file.patch.broken:
        return "the change breaks the start"
    if file.outcome in _OF_A_PART and (file.part is not None or not whole(file.run.asked)):
        return _OF_A_PART[file.outcome]
    return _CODES.get(file.exit_code) or _MEANING.get(file.outcome, "see above")
