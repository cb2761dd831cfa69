"""Rows of benchmarks/decisions.py as markdown: one rule on one machine, ours against the field, and what lies at a limit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from benchmarks.decision_sim.draw import Machine, Result
from benchmarks.decision_sim.worlds import RESTART_S, START_S, World
from tokgate.stats.exact import clopper_pearson

LOSSES = (0.0, 0.02, 0.03, 0.05, 0.10)
LIMIT_LOSSES = (0.0, 0.03, 0.10)  # beyond a limit
FALSE_ALARM, POWER, LOOKED_FOR = 0.01, 0.95, 0.03


class Judge(Protocol):
    def __call__(self, machine: Machine, *, loss: float) -> Result: ...


class Rule(NamedTuple):
    name: str
    judge: Judge
    ours: bool = False
    tightened: bool = False  # not as anybody uses it: its limit set so that it could see 3 %


class Cell(NamedTuple):
    """One rule on one machine with one loss."""

    called: int
    undecided: float
    invalid: float
    launches: float
    starts: float

    @property
    def seconds(self) -> float:
        return self.launches * RESTART_S + self.starts * START_S


class Row(NamedTuple):
    """One rule on one machine."""

    rule: Rule
    sessions: int
    cells: dict[float, Cell]

    @property
    def alarms(self) -> float:
        return clopper_pearson(self.cells[0.0].called, self.sessions)[1]

    def power(self, loss: float) -> float:
        return self.cells[loss].called / self.sessions

    @property
    def sees(self) -> float:
        """The lower 95 % bound on the power at the loss that must be seen."""
        return clopper_pearson(self.cells[LOOKED_FOR].called, self.sessions)[0]

    @property
    def reaches(self) -> bool:
        return self.alarms <= FALSE_ALARM and self.sees >= POWER


def table(world: World, rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of a markdown table."""
    yield f"**{world.name}**: {world.words}"
    yield ""
    yield "| rule | false alarms | at most | 2 % | 3 % | 5 % | 10 % | undecided | invalid | runs | starts | GPU s | at 3 % |"
    yield "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|"
    for row in rows:
        quiet, loss = row.cells[0.0], row.cells[LOOKED_FOR]
        name = f"**{row.rule.name}**" if row.rule.ours else row.rule.name
        power = " | ".join(f"{row.power(x):.1%}" for x in LOSSES[1:])
        yield (
            f"| {name}{' ¹' if row.rule.tightened else ''} | {quiet.called / row.sessions:.2%} | {row.alarms:.2%} | {power} "
            f"| {quiet.undecided:.1%} | {quiet.invalid:.1%} | {quiet.launches:.1f} | {quiet.starts:.0f} "
            f"| {quiet.seconds:.0f} | {loss.seconds:.0f} |"
        )


def summary(tables: dict[str, list[Row]]) -> Iterator[str]:
    """Yield what each of our ways costs against the cheapest rule of the field that reaches both, where one does."""
    yield "| machine | cheapest that reaches both | GPU s | ours | false alarms at most | 3 % | GPU s | of that | at 3 % |"
    yield "|---|---|--:|---|--:|--:|--:|--:|--:|"
    for name, rows in tables.items():
        field = [r for r in rows if r.reaches and not r.rule.ours and not r.rule.tightened]
        best = min(field, key=lambda r: r.cells[0.0].seconds, default=None)
        told = (best.rule.name, f"{best.cells[0.0].seconds:.0f}") if best else ("none", "")
        for row in rows:
            if not row.rule.ours:
                continue
            shares = [
                f"{row.cells[x].seconds / best.cells[x].seconds:.0%}" if best else ""
                for x in (0.0, LOOKED_FOR)
            ]
            yield (
                f"| {name} | {told[0]} | {told[1]} | {row.rule.name} | {row.alarms:.2%} | {row.power(LOOKED_FOR):.1%} "
                f"| {row.cells[0.0].seconds:.0f} | {shares[0]} | {shares[1]} |"
            )


Limits = Sequence[tuple[tuple[World, Rule], Row]]


def limit_table(limits: Limits) -> Iterator[str]:
    """Yield the lines of a markdown table: what lies at its limit, machine by machine."""
    yield "| machine | held against | called | at most | 3 % beyond | 10 % beyond | undecided | invalid | runs | at 3 % |"
    yield "|---|---|--:|--:|--:|--:|--:|--:|--:|--:|"
    for (world, rule), row in limits:
        quiet = row.cells[0.0]
        yield (
            f"| `{world.name}`: {world.words} | {rule.name} | {quiet.called / row.sessions:.2%} | {row.alarms:.2%} "
            f"| {row.power(0.03):.1%} | {row.power(0.1):.1%} | {quiet.undecided:.1%} | {quiet.invalid:.1%} "
            f"| {quiet.launches:.1f} | {row.cells[0.03].launches:.1f} |"
        )
