"""One number that falls moves a dozen that follow from it: gathered as one loss, beside which what holds is only named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tokgate.records import Outcome, Verdict

from .conclusion import word_of
from .leading import worst_first
from .visible import one_line, wrapped


class Loss(NamedTuple):
    """What has regressed of an arm: the verdict to be told, and those that follow from it."""

    first: Verdict
    others: tuple[Verdict, ...]


def losses(verdicts: Sequence[Verdict]) -> tuple[Loss, ...]:
    """Gather what has regressed: of one arm, and of one workload, or of another by a check that is among them."""
    found: list[tuple[Verdict, list[Verdict]]] = []
    for verdict in worst_first([v for v in verdicts if v.outcome is Outcome.REGRESSED]):
        for first, others in found:
            if _same(verdict, (first, *others)):
                others.append(verdict)
                break
        else:
            found.append((verdict, []))
    return tuple(Loss(first, tuple(others)) for first, others in found)


def kept_in_short(verdicts: Sequence[Verdict], word: str, width: int, indent: int) -> list[str]:
    """Return "pass  3: clean_slate 2, lossless" of the verdicts that end in `word`, wrapped behind `indent` columns."""
    names = Counter(one_line(v.check, 60) for v in verdicts if word_of(v) == word)
    if not names:
        return []
    listed = ", ".join(name if count == 1 else f"{name} {count}" for name, count in names.items())
    return wrapped(f"{names.total()}: {listed}", width, first=f"{word:<{indent}}", indent=" " * indent)


def _same(verdict: Verdict, loss: Sequence[Verdict]) -> bool:
    """Two without an arm, a machine's say, are never the same loss; nor is what a workload of its own alone shows."""
    if verdict.arm is None or verdict.arm != loss[0].arm:
        return False
    return verdict.workload == loss[0].workload or verdict.check in {v.check for v in loss}
