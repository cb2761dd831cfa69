"""What a row of the table may ask of a gate session, and how it is compared."""

from __future__ import annotations

import re
from dataclasses import dataclass

from .gate_run import GateRun, words_of

# Names of outcomes; the exit code follows from the worst of them.
PASS, IMPROVED, NO_BASELINE = "pass", "improved", "no-baseline"
INCONCLUSIVE, INVALID, REGRESSED = "inconclusive", "invalid", "regressed"


@dataclass(frozen=True)
class Says:
    """The verdicts of one check have this outcome as their worst, and those that have it say all these words.

    `words` are regular expressions, looked for in headline, evidence, warnings, differences and next step;
    `launch`, `workload` and `metric` narrow down which verdicts are meant. `or_open`: it may be inconclusive as well,
    since which of two losses is confirmed first depends on what a restart takes here, and a session whose speed is
    called a loss leaves what stands beside it open (tokgate/verdicts/stop_rule.py).
    """

    check: str
    outcome: str
    words: tuple[str, ...] = ()
    launch: str | None = None
    workload: str | None = None
    metric: str | None = None
    or_open: bool = False

    def lacks(self, run: GateRun) -> str | None:
        """Say what is not as expected; None when all is."""
        narrowed = {
            name: value
            for name, value in (("launch", self.launch), ("workload", self.workload), ("metric", self.metric))
            if value is not None
        }
        found = run.verdicts(check=self.check, **narrowed)
        where = " ".join([self.check, *narrowed.values()])
        if not found:
            return f"{where} was not judged at all"
        outcome = run.outcome(check=self.check, **narrowed)
        if outcome != self.outcome and not (self.or_open and outcome == INCONCLUSIVE):
            told = "\n".join(f"    {v['outcome']}: {words_of(v)}" for v in found)
            return f"{where} is {outcome}, not {self.outcome}:\n{told}"
        told = " || ".join(words_of(v) for v in found if v["outcome"] == outcome)
        missing = [word for word in self.words if not re.search(word, told)]
        return f"{where} does not say {missing}, but: {told}" if missing else None


@dataclass(frozen=True)
class Keeps:
    """A file of the run folder (a glob) holds these words (a regular expression; a dot matches line ends)."""

    file: str
    words: str

    def lacks(self, run: GateRun) -> str | None:
        """Say what is not as expected; None when all is."""
        if not run.files(self.file):
            return f"no file {self.file} in the run folder"
        if not re.search(self.words, run.text(self.file), re.DOTALL):
            return f"{self.file} does not hold {self.words!r}"
        return None


@dataclass(frozen=True)
class Row:
    """One line of the specification: what is played, which part of the gate looks, what it must find.

    `timed`: the outcome rests on times, so a box that was late makes the run worthless. `later`: the layer that
    will judge this scenario, where today's can only be asked not to be fooled. `never`: words that no verdict
    may use, since they would send the reader the wrong way. `causes`: what is ranked before everything else, in this
    order; a session that passes has none.
    """

    scenario: str
    outcome: str  # of the whole session
    says: tuple[Says, ...]
    select: str  # pytest's -k
    keeps: tuple[Keeps, ...] = ()
    settings: tuple[str, ...] = ()  # --rig-set
    never: tuple[str, ...] = ()
    timed: bool = False
    later: str | None = None
    slow: bool = False
    causes: tuple[str, ...] = ()

    def lacks(self, run: GateRun) -> list[str]:
        """Say everything that is not as expected."""
        told = [words_of(v) for v in run.verdicts() if v["outcome"] not in (PASS, IMPROVED)]
        wrong = [f"a verdict says {word!r}" for word in self.never if re.search(word, " || ".join(told))]
        asked: tuple[Says | Keeps, ...] = (*self.says, *self.keeps)
        return [found for one in asked if (found := one.lacks(run))] + wrong + self._misled(run)

    def _misled(self, run: GateRun) -> list[str]:
        """Say where the ranking of causes leads elsewhere."""
        ranked = run.causes()
        first = ranked[: len(self.causes)] if self.outcome != PASS else ranked
        return (
            [] if first == list(self.causes) else [f"the causes are ranked {ranked}, not {self.causes} first"]
        )
