"""Kept promises, told shortly: one check on every launch and workload is one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import NamedTuple

from tokgate.records import Outcome, Verdict

from . import figures
from .conclusion import word_of
from .visible import one_line

_KEPT = (Outcome.PASS, Outcome.IMPROVED)


class Together(NamedTuple):
    """Verdicts that stand together; a single one stands for itself."""

    word: str  # of all of them: pass, improved, note, or the outcome of the one
    verdicts: tuple[Verdict, ...]
    of: int  # these and those of this check that were not kept; what is kept by another word is not missing here

    @property
    def check(self) -> str:
        return self.verdicts[0].check

    @property
    def several(self) -> bool:
        return len(self.verdicts) > 1

    def share(self) -> str:
        """Return "8 of 8"."""
        return f"{len(self.verdicts)} of {self.of}"

    def span(self) -> str:
        """Return the largest change among them and where it was; nothing where none of them compares."""
        changed = [(abs(v.change), v) for v in self.verdicts if v.change is not None]
        if not changed:
            return ""
        verdict = max(changed, key=lambda pair: pair[0])[1]
        where = ", ".join(one_line(p, 40) for p in (verdict.metric, verdict.workload) if p)
        return f"up to {figures.percent(verdict.change)} ({where or verdict.check})"


def together(
    verdicts: Sequence[Verdict], *, least: int, checks: Collection[str] = (), never: Collection[str] = ()
) -> tuple[Together, ...]:
    """Gather kept verdicts of one check and word where there are at least `least` of them, in place of the first.

    Only those of `checks` where that is given, none of `never`; every verdict that is not kept stands alone.
    """
    found: dict[tuple[object, ...], list[Verdict]] = {}
    for number, verdict in enumerate(verdicts):
        alone = (
            verdict.outcome not in _KEPT or verdict.check in never or (checks and verdict.check not in checks)
        )
        key = (number,) if alone else (verdict.check, word_of(verdict))
        found.setdefault(key, []).append(verdict)
    not_kept = Counter(v.check for v in verdicts if v.outcome not in _KEPT)
    groups = [
        g for group in found.values() for g in ([group] if len(group) >= least else [[v] for v in group])
    ]
    words = Counter((v.check, word_of(v)) for v in verdicts if v.outcome in _KEPT)
    return tuple(
        Together(word_of(g[0]), tuple(g), words[g[0].check, word_of(g[0])] + not_kept[g[0].check])
        for g in groups
    )
