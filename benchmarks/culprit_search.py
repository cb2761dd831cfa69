"""Claim: a search names the units of a change that cost, hardly ever another one, with fewer server runs than every prefix takes.

    python -m benchmarks.culprit_search [--sessions 1000] [--worlds h200-1,sglang] [--units 6,12] [--jobs 2] [--seed 0]

Simulated sessions on the machines of benchmarks/decision_sim, whose spreads were measured; ours by the product's own code (tokgate/stats/group_testing.py,
next_prefixes.py). Beside it: two server runs of every prefix with a limit of 2 % between neighbours, and a script for
git bisect with one run a step. `wrong`: sessions in which a unit is named that costs nothing, with the upper 95 % bound (Clopper and
Pearson); `exact`: all units of 3 % and more are named and no other; `part`: what is named is right, and some are left undecided.
Server runs, and the seconds that they take where a small model's restart takes 60 s.

Exit code 1 where ours names a wrong unit in more than 1 % of sessions without a culprit (its bound, which takes 300 sessions) on a machine
whose restarts have one mode, or on a quiet machine is
exact in less than 95 % of sessions with one culprit of 5 % or more.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from benchmarks.culprit_sim.searches import Named, every_prefix, git_bisect, ours
from benchmarks.culprit_sim.worlds import RUN_S, Box, Change, changes
from benchmarks.decision_sim.worlds import QUIET, WORLDS, World

FALSE_ALARM, EXACT = 0.01, 0.95
WAYS: dict[str, Callable[[Box, int], Named]] = {
    "ours": ours,
    "every prefix twice, -2 %": every_prefix,
    "git bisect, one run a step": git_bisect,
}
TWO_MODES = tuple(world.name for world in WORLDS if world.apart)
SHOWN = ("h200-1", "sglang", "cpu", "h200-16", "drift", "two-mode-5")


class Row(NamedTuple):
    world: str
    units: int
    change: Change
    way: str
    sessions: int
    wrong: int
    exact: int
    undecided: int
    together: int  # sessions in which units are said to cost together and none alone
    runs: float

    @property
    def at_most(self) -> float:
        return float(beta.ppf(0.95, self.wrong + 1, self.sessions - self.wrong))


def row_of(world: World, units: int, change: Change, way: str, *, sessions: int, seed: int) -> Row:
    key = f"{seed} {world.name} {units} {change.words} {way}"
    rng = np.random.default_rng(np.random.SeedSequence(list(key.encode())))
    wrong = exact = undecided = together = runs = 0
    for _ in range(sessions):
        box = Box(world, change.costs, rng)
        named = WAYS[way](box, units)
        runs += box.runs
        groups = [set(range(first, last + 1)) for first, last in named.groups]
        wrong += bool(named.units & change.innocent) or any(group <= change.innocent for group in groups)
        exact += named.units == change.culprits and not (change.culprits and groups)
        undecided += named.undecided
        together += bool(groups) and not named.units
    return Row(world.name, units, change, way, sessions, wrong, exact, undecided, together, runs / sessions)


def table(rows: list[Row]) -> Iterator[str]:
    yield "| machine | units | change | way | wrong | at most | exact | undecided | together | server runs | s |"
    yield "|---|--:|---|---|--:|--:|--:|--:|--:|--:|--:|"
    for row in rows:
        shares = (row.wrong, row.exact, row.undecided, row.together)
        wrong, exact, undecided, together = (f"{count / row.sessions:.1%}" for count in shares)
        way = f"**{row.way}**" if row.way == "ours" else row.way
        yield (
            f"| {row.world} | {row.units} | {row.change.words} | {way} | {wrong} | {row.at_most:.2%} | {exact} | {undecided} | "
            f"{together} | {row.runs:.1f} | {row.runs * RUN_S:.0f} |"
        )


def missed(rows: list[Row]) -> Iterator[str]:
    for row in (row for row in rows if row.way == "ours"):
        where = f"{row.world}, {row.units} units, {row.change.words}"
        if (
            row.world not in TWO_MODES
            and not row.change.culprits
            and row.at_most > FALSE_ALARM
            and "each" not in row.change.words
        ):
            yield f"{where}: a unit that costs nothing may be named in {row.at_most:.2%} of sessions"
        sees = row.exact / row.sessions
        if row.world in QUIET and max(row.change.costs) >= 0.05 and sees < EXACT:
            yield f"{where}: named exactly in {sees:.1%} of sessions"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sessions", type=int, default=1000, help="a machine, change and way")
    parser.add_argument("--worlds", default=",".join(SHOWN), help="machines, with commas")
    parser.add_argument("--units", default="6,12", help="lengths of the series, with commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    began = time.monotonic()
    worlds = [w for w in WORLDS if w.name in asked.worlds.split(",")]
    todo = [
        (world, units, change, way)
        for world in worlds
        for units in map(int, asked.units.split(","))
        for change in changes(units)
        for way in WAYS
    ]
    with ProcessPoolExecutor(asked.jobs) as pool:
        judge = partial(row_of, sessions=asked.sessions, seed=asked.seed)
        rows = list(pool.map(judge, *zip(*todo, strict=True)))
    print("\n".join(table(rows)))
    print(f"\n{asked.sessions} sessions a row; {time.monotonic() - began:.0f} s")
    faults = list(missed(rows))
    for fault in faults:
        print(f"DOES NOT HOLD: {fault}")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
