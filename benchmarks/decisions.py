"""Claim: our verdicts call no loss that is none, see 3 % where a machine allows it, and cost less than the field's rules.

    python -m benchmarks.decisions [--sessions 5000] [--worlds h200-1,sglang] [--jobs 2] [--seed 1]

Simulated sessions of two arms, two workloads and thirteen comparisons (benchmarks/decision_sim/), on machines as noisy as
those measured; each rule sees as many sessions without a change and with a loss of 2, 3, 5 and 10 % of one arm with one
stream. Printed for each machine: false alarms per session over all comparisons together with their upper 95 % bound
(Clopper and Pearson), power, sessions without a change that were left undecided or refused as invalid, and what a session
took in server runs, starts and seconds of GPU time, without a change and with a loss of 3 %.

Exit code 1 where our rule's bound on false alarms exceeds 1 % anywhere, or where both sides in one session, or stored and
then both, see less than 95 % of losses of 3 % on a quiet machine. Ten minutes on two cores at most, seeds fixed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple, Protocol

from benchmarks.decision_sim import rivals
from benchmarks.decision_sim.arms import Plan
from benchmarks.decision_sim.draw import Machine, Result
from benchmarks.decision_sim.ours import gate
from benchmarks.decision_sim.pinpoint import pinpoint
from benchmarks.decision_sim.worlds import QUIET, RESTART_S, START_S, WORLDS, World
from tokgate.stats.exact import clopper_pearson

LOSSES = (0.0, 0.02, 0.03, 0.05, 0.10)
FALSE_ALARM, POWER, LOOKED_FOR = 0.01, 0.95, 0.03


class Judge(Protocol):
    def __call__(self, machine: Machine, *, loss: float) -> Result: ...


class Rule(NamedTuple):
    name: str
    judge: Judge
    ours: bool = False
    tightened: bool = False  # not as anybody uses it: its limit set so that it could see 3 %


TWIN, TWIN_ALONE, STORED, BOTH = (
    "both sides in one session",
    "the same, nothing stored",
    "against the stored baseline",
    "stored, then both sides",
)
RULES = (
    Rule(TWIN, partial(gate, plan=Plan(("twin",))), ours=True),
    Rule(TWIN_ALONE, partial(gate, plan=Plan(("twin",), sessions=0)), ours=True),
    Rule(STORED, partial(gate, plan=Plan(("stored",), most=4)), ours=True),
    Rule(BOTH, partial(gate, plan=Plan(("stored", "twin"))), ours=True),
    Rule("SGLang: best of 3, retried, -5 %", rivals.fixed_best_of_3),
    Rule("pytest-benchmark: mean, 5 %", rivals.mean_of_rounds),
    Rule("benchstat: n=10 in one server", rivals.mann_whitney),
    Rule("benchstat: n=20 in one server", partial(rivals.mann_whitney, n=20)),
    Rule("benchstat: n=10 restarts", partial(rivals.mann_whitney, restarts=True)),
    Rule("benchstat: n=20 restarts", partial(rivals.mann_whitney, n=20, restarts=True)),
    Rule("Pinpoint", pinpoint),
    Rule("imp: 3 alternating pairs, -2 %", rivals.alternating_pairs),
    Rule("TensorRT-LLM: rolling P95, 5 %", rivals.rolling_p95),
    Rule("TensorRT-LLM: rolling P95, 10 %", partial(rivals.rolling_p95, limit=0.10)),
    Rule("SGLang's with -2 %", partial(rivals.fixed_best_of_3, limit=0.02), tightened=True),
    Rule("mean of rounds, 2 %", partial(rivals.mean_of_rounds, limit=0.02), tightened=True),
    Rule(
        "mean, 2 %, same session",
        partial(rivals.mean_of_rounds, limit=0.02, same_session=True),
        tightened=True,
    ),
)


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sessions", type=int, default=5000, help="a rule, machine and loss")
    parser.add_argument("--worlds", default=",".join(w.name for w in WORLDS), help="machines, with commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--seed", type=int, default=0, help="of all draws; the tables in docs/ are those of 0"
    )
    asked = parser.parse_args()
    began = time.monotonic()
    worlds = [w for w in WORLDS if w.name in asked.worlds.split(",")]
    if not worlds:
        parser.error(f"no such machine: {asked.worlds}; there are {', '.join(w.name for w in WORLDS)}")
    tables: dict[str, list[Row]] = {world.name: [] for world in worlds}
    todo = [(world, rule) for world in worlds for rule in RULES]
    with ProcessPoolExecutor(asked.jobs) as pool:
        rows = pool.map(partial(row_of, sessions=asked.sessions, seed=asked.seed), *zip(*todo, strict=True))
        for (world, _), row in zip(todo, rows, strict=True):
            tables[world.name].append(row)
            if len(tables[world.name]) == len(RULES):
                print("\n".join(table(world, tables[world.name])), end="\n\n", flush=True)
    faults = list(missed(tables))
    print("\n".join(summary(tables)), end="\n\n")
    print(f"{asked.sessions} sessions a rule, machine and loss; {time.monotonic() - began:.0f} s")
    for fault in faults:
        print(f"DOES NOT HOLD: {fault}")
    sys.exit(1 if faults else 0)


def row_of(world: World, rule: Rule, *, sessions: int, seed: int = 0) -> Row:
    cells = {}
    for loss in LOSSES:
        found = rule.judge(Machine(world, sessions, (world.name, rule.name, loss, seed)), loss=loss)
        cells[loss] = Cell(
            called=int(found.called.sum()),
            undecided=float(found.undecided.mean()),
            invalid=float(found.invalid.mean()),
            launches=float(found.launches.mean()),
            starts=float(found.starts.mean()),
        )
    return Row(rule, sessions, cells)


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


def missed(tables: dict[str, list[Row]]) -> Iterator[str]:
    for name, rows in tables.items():
        for row in rows:
            if not row.rule.ours:
                continue
            if row.alarms > FALSE_ALARM:
                yield f"{row.rule.name} on {name}: false alarms may be {row.alarms:.2%} of sessions"
            if name in QUIET and row.rule.name != STORED and row.sees < POWER:
                yield f"{row.rule.name} on {name}: may see only {row.sees:.1%} of losses of {LOOKED_FOR:.0%}"


if __name__ == "__main__":
    main()
