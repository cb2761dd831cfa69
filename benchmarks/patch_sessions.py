"""How often a patch that does nothing is called slower, and how often one that costs is: `python -m benchmarks.patch_sessions`.

Sessions are drawn, the decisions are the product's own: shares of the chance of a false alarm (verdicts/family.py), head
against base (verdicts/side_compare.py, stats/decide.py), confirmation by restarts, balanced wants. Of each session: a
control arm and an EAGLE-3 arm, head and base of each in turn, the control's head once more at the end, then rounds of further
restarts of both sides, B H, H B, …, with a control behind them, until nothing is open or as many restarts of a side are made as the rig
allows. The change costs the same part of the speed of both arms, or of the EAGLE-3 arm alone (`--arm`).

What differs by itself is what was measured on real machines (decision_sim/worlds.py). First-token times differ three times as
much as speed; accept lengths of the same prompts hardly at all. Exit code 1 where the upper end of the one-sided 95 % interval of the
false alarms exceeds the session's 1 % on any machine, or where less than 95 % of losses of 3 % are called on a quiet one.
A quarter of an hour on two cores, seeds fixed.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np
import scipy

from benchmarks.decision_sim.worlds import QUIET, RESTART_S, START_S, WARMUPS, WORLDS, World
from tokgate.records import Outcome
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.rig.shipped import shipped_root
from tokgate.rig.sides import SidesSpec
from tokgate.stats.levels import RunValues
from tokgate.verdicts.decision_words import lacks_confirmation
from tokgate.verdicts.family import BESIDE_SPEED
from tokgate.verdicts.metrics import METRICS
from tokgate.verdicts.run_values import NOW, Asked, asked_of
from tokgate.verdicts.side_compare import ComparedSides, decided
from tokgate.verdicts.stop_rule import AT_ONCE

STARTS = 8
LOSSES = (0.0, 0.01, 0.02, 0.03, 0.05)
UNCHANGED = 8  # times as many sessions without a loss: a false alarm is rare
CALLED_LOSS, POWER = 0.03, 0.95
VALUES = {"decode_tok_s": 90.0, "cycle_ms": 20.0, "accept_length": 1.85, "ttft_ms": 60.0}
OF_ARM = {"control": ("decode_tok_s", "ttft_ms"), "eagle3": tuple(VALUES)}
FIRST_TOKEN = 3.0  # times what speed differs by
COUNTED = 0.0005
SESSIONS_STORED, RUNS_STORED = 6, 2
_PLANNED = 6.0  # launches over which a world's drift is stated


class Case(NamedTuple):
    world: World
    loss: float
    stored: bool
    arms: tuple[str, ...]  # that the change slows
    sessions: int


class Found(NamedTuple):
    called: bool
    named: bool  # on an arm that the change slows
    undecided: bool
    passed: bool  # every speed
    launches: int


class Arm:
    """One arm in one session: runs of both sides, and what is stored of it."""

    def __init__(self, name: str, case: Case, rng: np.random.Generator) -> None:
        self.name, self._case, self._rng = name, case, rng
        self.session = rng.normal(0.0, case.world.session)
        self.sides: dict[str, list[dict[str, RunValues]]] = {"head": [], "base": []}
        self.history: dict[str, list[RunValues]] = {metric: [] for metric in OF_ARM[name]}
        for number in range(SESSIONS_STORED if case.stored else 0):
            moved = rng.normal(0.0, case.world.session)
            for _ in range(RUNS_STORED):
                for metric, run in self._run(f"stored {number}", moved, loss=0.0, at=0.0).items():
                    self.history[metric].append(run)

    def measure(self, side: str, at: float) -> None:
        costs = side == "head" and self.name in self._case.arms
        self.sides[side].append(self._run(NOW, self.session, loss=self._case.loss if costs else 0.0, at=at))

    def runs(self, side: str, metric: str) -> tuple[RunValues, ...]:
        return tuple(run[metric] for run in self.sides[side])

    def _run(self, session: str, moved: float, *, loss: float, at: float) -> dict[str, RunValues]:
        world, rng = self._case.world, self._rng
        slow = math.log1p(world.apart) if world.apart and rng.random() < world.share else 0.0
        level = moved + rng.normal(0.0, world.restart) + slow + world.drift * at / _PLANNED
        starts = rng.normal(0.0, world.start, STARTS)
        longer = level - math.log1p(-loss)
        told = {
            "decode_tok_s": -(longer + starts),
            "cycle_ms": longer + starts,
            "accept_length": rng.normal(0.0, COUNTED, STARTS),
            "ttft_ms": FIRST_TOKEN * (level + rng.normal(0.0, world.start, STARTS)),
        }
        return {
            metric: RunValues(
                session=session,
                launch=f"{session} {at:g} {rng.integers(1 << 40)}",
                values=tuple(VALUES[metric] * np.exp(told[metric])),
            )
            for metric in OF_ARM[self.name]
        }


def session(case: Case, rig: Rig, rng: np.random.Generator) -> Found:
    arms = {name: Arm(name, case, rng) for name in OF_ARM}
    at, launches, begun = 0.0, 0, dict.fromkeys(OF_ARM, 0)

    def measure(name: str, side: str) -> None:
        nonlocal at, launches
        arms[name].measure(side, at)
        at, launches = at + 1, launches + 1

    for name in OF_ARM:
        measure(name, "head")
        measure(name, "base")
    measure("control", "head")
    look = 1
    while True:
        found = {name: _judged(rig, arms, name, look) for name in OF_ARM}
        wants = _wanted(found, {n: len(a.sides["base"]) - 1 for n, a in arms.items()}, rig)
        if not wants:
            break
        for name, more in wants.items():
            for _ in range(more):
                begun[name] += 1
                for side in ("base", "head") if begun[name] % 2 else ("head", "base"):
                    measure(name, side)
        if "control" not in wants:
            measure("control", "head")
        look += 1
    verdicts = [(name, one) for name, every in found.items() for one in every]
    lost = [name for name, one in verdicts if one.decision.outcome is Outcome.REGRESSED]
    speeds = [one.decision.outcome for _, one in verdicts if one.metric.name == "decode_tok_s"]
    return Found(
        called=bool(lost),
        named=any(name in case.arms for name in lost),
        undecided=not lost and any(o is Outcome.INCONCLUSIVE for o in speeds),
        passed=all(o in (Outcome.PASS, Outcome.IMPROVED) for o in speeds),
        launches=launches,
    )


def _judged(rig: Rig, arms: dict[str, Arm], name: str, look: int) -> tuple[ComparedSides, ...]:
    arm, workload = arms[name], rig.workloads[0].name
    asked = {
        metric: _at(asked_of(rig, "side", METRICS[metric], workload, ()), look) for metric in OF_ARM[name]
    }
    beside = {
        metric: [
            run.model_copy(update={"session": f"{other.name} {side}"})
            for other in arms.values()
            if other is not arm
            for side in other.sides
            for run in other.runs(side, metric if metric in OF_ARM[other.name] else "decode_tok_s")
        ]
        for metric in OF_ARM[name]
        if metric != "accept_length"
    }
    sides = {metric: (arm.runs("head", metric), arm.runs("base", metric)) for metric in OF_ARM[name]}
    return tuple(decided(sides, asked, history=arm.history, beside=beside))


def _at(asked: Asked, look: int) -> Asked:
    return asked.model_copy(update={"rule": asked.rule.model_copy(update={"look": look})})


def _wanted(found: dict[str, tuple[ComparedSides, ...]], made: dict[str, int], rig: Rig) -> dict[str, int]:
    """Return pairs of further runs by arm, as the stop rule has it: two at once, of many half; speed decides."""
    wants = {}
    for name, every in found.items():
        lost = any(o.decision.outcome is Outcome.REGRESSED for o in every if o.metric.name == "decode_tok_s")
        asked = [
            max(o.decision.wants.now, o.decision.wants.before)
            for o in every
            if _asks(o) and (o.metric.name == "decode_tok_s" or not lost)
        ]
        asked = [n for n in asked if 0 < n <= rig.sampling.most_restarts - made[name]]
        if asked:
            most = max(asked)
            wants[name] = most if most <= AT_ONCE else math.ceil(most / 2)
    return wants


def _asks(one: ComparedSides) -> bool:
    """Say whether restarts are asked for: of the time to the first token only where a loss lacks nothing else."""
    if one.decision.outcome is not Outcome.INCONCLUSIVE:
        return False
    return one.metric.name not in BESIDE_SPEED or lacks_confirmation(one.decision)


def cell(case: Case) -> list[Found]:
    rig = rig_of_sides()
    seed = f"{case.world.name} {case.loss} {case.stored} {case.arms}"
    rng = np.random.default_rng(np.random.SeedSequence(list(seed.encode())))
    return [session(case, rig, rng) for _ in range(case.sessions)]


def rig_of_sides() -> Rig:
    """Return the default rig with one workload, as a session on a change has it."""
    rig = load_rig("sim-8gpu", root=shipped_root())
    return rig.model_copy(update={"workloads": rig.workloads[:1], "sides": SidesSpec(base="main")})


def row(case: Case, found: Sequence[Found]) -> str:
    n = len(found)
    called = sum(f.named if case.loss else f.called for f in found)
    launches = sum(f.launches for f in found) / n
    seconds = launches * (RESTART_S + (STARTS + WARMUPS) * START_S)
    return (
        f"| {case.world.name} | {case.loss:.0%} | {called / n:.1%} | {upper(called, n):.1%} | "
        f"{sum(f.passed for f in found) / n:.1%} | {sum(f.undecided for f in found) / n:.1%} | {launches:.1f} | {seconds / 60:.0f} |"
    )


def upper(k: int, n: int) -> float:
    """Return the one-sided 95 % bound of Clopper and Pearson 1934."""
    return 1.0 if k >= n else float(scipy.stats.beta.ppf(0.95, k + 1, n - k))


def tables(cases: Sequence[Case], results: Sequence[list[Found]]) -> Iterator[str]:
    for stored in dict.fromkeys(case.stored for case in cases):
        yield ""
        yield "six sessions of the arm stored:" if stored else "nothing stored:"
        yield ""
        yield "| machine | the change costs | called | at most | pass | undecided | server runs | minutes |"
        yield "|---|--:|--:|--:|--:|--:|--:|--:|"
        for case, found in zip(cases, results, strict=True):
            if case.stored is stored:
                yield row(case, found)


def faults(cases: Sequence[Case], results: Sequence[list[Found]]) -> Iterator[str]:
    whole = rig_of_sides().sampling.false_alarm
    for case, found in zip(cases, results, strict=True):
        if case.loss == 0 and (most := upper(sum(f.called for f in found), len(found))) > whole:
            yield f"{case.world.name}: up to {most:.2%} of sessions without a loss are called slower"
        if case.loss == CALLED_LOSS and case.world.name in QUIET:
            seen = sum(f.named for f in found) / len(found)
            if seen < POWER:
                yield f"{case.world.name}: {seen:.1%} of losses of 3 % are called"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--sessions", type=int, default=150, help="a cell; without a loss eight times as many"
    )
    parser.add_argument("--world", action="append", help="only this machine; may be repeated")
    parser.add_argument("--arm", action="store_true", help="the change slows the EAGLE-3 arm alone")
    options = parser.parse_args()
    arms = ("eagle3",) if options.arm else tuple(OF_ARM)
    cases = [
        Case(world, loss, stored, arms, options.sessions * (1 if loss else UNCHANGED))
        for stored in (False, True)
        for world in WORLDS
        if not options.world or world.name in options.world
        for loss in LOSSES
    ]
    with ProcessPoolExecutor() as pool:
        results = list(pool.map(cell, cases))
    print("\n".join(tables(cases, results)))
    wrong = list(faults(cases, results))
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
