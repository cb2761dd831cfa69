"""A test in pytest's FAILURES: the verdict that the others follow from with what backs it, then a line each.

Every verdict has up to twenty lines of evidence, and one loss a dozen verdicts: `-v` and report.html have them in full.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tokgate.records import Outcome, Verdict

from .leading import PATCH
from .paint import shout
from .terminal import WIDTH, verdict_text
from .terminal_rows import beside
from .visible import wrapped

_INDENT = "  "
_HEADLINE_LINES = 4
# Lines of evidence, and terminal lines of each. Of a loss what was found comes first, how sure it is after it; what makes
# a test invalid, a variable that no rank has say, is not believed without its proof.
_EVIDENCE = (3, 2)
_PROOF = (8, 4)
_RUNS = "server run by server run"


def failed_text(first: Verdict, others: Sequence[Verdict], width: int = WIDTH) -> str:
    """Return `first` as the text of a failed test and a line for each of `others`, at most `width` columns wide.

    The next step of a loss stands in the last block; what makes a test invalid is nothing without its remedy.
    """
    invalid = first.outcome is Outcome.INVALID
    many, high = _PROOF if invalid else _EVIDENCE
    # Which servers show it tells more than how sure it is.
    by_runs = first.check != PATCH  # of a change where it lies, and in which files, comes before either
    evidence = sorted(first.evidence, key=lambda line: by_runs and not line.startswith(_RUNS))[:many]
    do = first.do if invalid else None
    shown = first.model_copy(update={"evidence": tuple(evidence), "do": do, "raw": ()})
    head, *rest = verdict_text(shown).splitlines()
    lines = wrapped(head, width, first="", indent=_INDENT, most=_HEADLINE_LINES)
    for line in map(str.strip, rest):
        most = None if line.startswith("do: ") else high  # a remedy that is cut short helps nobody
        lines += wrapped(line, width, first=_INDENT, indent=_INDENT * 2, most=most, whole=True)
    if (left := len(first.evidence) - len(evidence)) > 0:
        lines.append(f"{_INDENT}… {left} more line{'s' if left > 1 else ''} of evidence: report.html, or -v")
    return "\n".join([*lines, *map(partial(_row, width=width), others)])


def _row(verdict: Verdict, *, width: int) -> str:
    head = f"{_INDENT}{shout(verdict.outcome)} "
    return head + beside(verdict, width - len(head))
