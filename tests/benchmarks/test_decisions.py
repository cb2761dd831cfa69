"""The simulation of decisions judges as the product does, and its rivals as their sources do."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np
import pytest

from benchmarks.decision_sim import rivals
from benchmarks.decision_sim.arms import STARTS, Arm, Plan, Side
from benchmarks.decision_sim.at_limit import CONTROL, OF_ARM, _fixed, _ratio, at_limit
from benchmarks.decision_sim.at_limit import Plan as LimitPlan
from benchmarks.decision_sim.draw import Machine, Result, measured
from benchmarks.decision_sim.judged import by_stored, by_twin
from benchmarks.decision_sim.ours import gate
from benchmarks.decision_sim.pinpoint import pinpoint, same_above
from benchmarks.decision_sim.questions import FLOOR, HIGHER, LEVEL
from benchmarks.decision_sim.worlds import World
from tokgate.records import Outcome
from tokgate.stats.against_limit import against_limit
from tokgate.stats.decide import decide
from tokgate.stats.decision import Rule
from tokgate.stats.levels import RunValues
from tokgate.verdicts.family import OF_KIND

STILL = World("still", "nothing differs by much", 0.0002, 0.0002, 0.0002)
NOISY = World("noisy", "restarts 2 % apart", 0.002, 0.02, 0.01)


@pytest.mark.parametrize("kind", ["twin", "stored"])
def test_a_simulated_session_is_judged_by_the_numbers_of_the_product(kind: Literal["twin", "stored"]) -> None:
    machine = Machine(NOISY, 6, ("same", kind))
    drawn: dict[str, list[np.ndarray]] = {}

    def side(name: str, runs: int, loss: float) -> Side:
        starts = machine.starts(machine.runs(machine.session() * 0, loss=loss, at=0, number=runs), 5)
        found = Side.none(6)
        found.add(starts)
        drawn[name] = [np.exp(measured(starts))]
        return found

    history = [side(f"stored-{n}", 2, 0.0) for n in range(4)]
    arm = Arm(machine, 1, Plan(("twin",), starts=5), machine.session(), history, loss=0.03)
    arm.before, arm.now = side("before", 2, 0.0), side("now", 3, 0.03)
    if kind == "stored":
        arm.before = Side.none(6)
    found, confirmed, _ = (by_twin if kind == "twin" else by_stored)(arm, arm.spread(), 2)

    for i in range(6):
        for question in (6, 7, 8):
            told = {
                name: [
                    RunValues(session=name, launch=str(run), values=tuple(values[0][i, question, run]))
                    for run in range(values[0].shape[2])
                ]
                for name, values in drawn.items()
            }
            before = [run for name, runs in told.items() if name.startswith("stored") for run in runs]
            rule = Rule(
                higher_is_better=bool(HIGHER[question]),
                relative=float(FLOOR[question]),
                absolute=0.0,
                level=float(OF_KIND[kind] * LEVEL[question]),
                look=2,
            )
            one = (
                decide(told["now"], told["before"], rule, kind="twin", history=before)
                if kind == "twin"
                else decide(told["now"], before, rule, kind="stored")
            )

            assert found.loss[i, question] == pytest.approx(one.loss)
            # The product takes out what prompts have in common first; nothing is in common here but by chance.
            assert found.low[i, question] == pytest.approx(one.low, abs=1e-4)
            assert found.high[i, question] == pytest.approx(one.high, abs=1e-4)
            assert bool(confirmed[i, question]) is one.confirmed
            assert bool(found.regressed[i, question] & confirmed[i, question]) is (
                one.outcome is Outcome.REGRESSED
            )


@pytest.mark.parametrize("kind", ["limit", "ratio"])
def test_what_lies_at_a_limit_is_judged_by_the_numbers_of_the_product(
    kind: Literal["limit", "ratio"],
) -> None:
    machine = Machine(NOISY, 12, ("at a limit", kind))
    drawn: dict[str, np.ndarray] = {}

    def side(name: str, runs: int, loss: float) -> Side:
        starts = machine.starts(machine.runs(machine.session() * 0, loss=loss, at=0, number=runs), STARTS)
        found = Side.none(12)
        found.add(starts)
        drawn[name] = np.exp(measured(starts))
        return found

    stored = [side(f"stored-{n}", 2, 0.0) for n in range(3)]
    control, arm = side("control", 2, 0.0), side("arm", 3, 0.05)
    found, confirmed = _fixed(arm, stored, OF_ARM, 2) if kind == "limit" else _ratio(control, arm, stored, 2)
    assert 0 < confirmed.sum() < 12

    for i in range(12):
        told = {
            (name, question): [
                RunValues(session=name, launch=str(run), values=tuple(values[i, question, run]))
                for run in range(values.shape[2])
            ]
            for name, values in drawn.items()
            for question in (CONTROL, OF_ARM)
        }
        history, of_twin = (
            [run for n in range(3) for run in told[f"stored-{n}", question]] for question in (OF_ARM, CONTROL)
        )
        rule = Rule(
            higher_is_better=True,
            relative=float(FLOOR[OF_ARM]),
            absolute=0.0,
            level=float(OF_KIND["limit" if kind == "limit" else "twin"] * LEVEL[OF_ARM]),
            look=2,
            same_configuration=kind == "limit",
        )
        one = (
            against_limit(told["arm", OF_ARM], 1.0, rule, history=history)
            if kind == "limit"
            else decide(
                told["arm", OF_ARM],
                told["control", CONTROL],
                rule,
                kind="twin",
                history=history,
                beside=of_twin,
                limit_ratio=1.0,
            )
        )
        assert found.loss[i] == pytest.approx(one.loss)
        # What two runs of three starts lack of degrees of freedom the product fills up with a prior.
        assert found.low[i] == pytest.approx(one.low, abs=1e-2)
        assert bool(confirmed[i]) is one.confirmed


@pytest.mark.parametrize("ratio", [True, False])
@pytest.mark.parametrize("sessions", [0, 6])
def test_an_arm_at_its_limit_is_called_by_its_losses_and_not_by_its_modes(ratio: bool, sessions: int) -> None:
    plan = LimitPlan(ratio=ratio, sessions=sessions)
    modes = World("modes", "three of ten 5 % slower", 0.0002, 0.0005, 0.0002, apart=0.05, share=0.3)
    at_it, slow = (
        at_limit(Machine(world, 400, ("limit", ratio, sessions)), loss=loss, plan=plan)
        for world, loss in ((modes, 0.0), (STILL, 0.04))
    )
    assert at_it.called.mean() < 0.015
    assert at_it.invalid.mean() > 0.7
    assert slow.called.all()


@pytest.mark.parametrize("ways", [("twin",), ("stored",), ("stored", "twin")])
def test_on_a_still_machine_ours_calls_every_loss_and_nothing_else(ways: tuple[str, ...]) -> None:
    quiet, loss = (
        gate(Machine(STILL, 50, (ways, x)), loss=x, plan=Plan(ways, sessions=12)) for x in (0.0, 0.05)
    )

    assert not quiet.called.any()
    assert not quiet.undecided.any()
    assert loss.called.all()
    assert loss.launches.mean() > quiet.launches.mean()


def test_the_same_seed_is_the_same_session() -> None:
    once, again = (gate(Machine(NOISY, 40, "seed"), loss=0.03, plan=Plan(("twin",))) for _ in range(2))

    assert (once.called == again.called).all()
    assert (once.launches == again.launches).all()


@pytest.mark.parametrize(
    ("rule", "unseen", "seen", "launches"),
    [
        (rivals.fixed_best_of_3, 0.04, 0.06, 2),
        (rivals.mean_of_rounds, 0.04, 0.06, 2),
        (rivals.alternating_pairs, 0.015, 0.025, 12),
        (rivals.rolling_p95, 0.04, 0.06, 2),
        (partial(rivals.rolling_p95, limit=0.1), 0.09, 0.11, 2),
        (rivals.mann_whitney, 0.0, 0.02, 4),
        (pinpoint, 0.0, 0.02, 40),
    ],
)
def test_rivals_see_what_lies_beyond_their_limits(
    rule: partial[Result], unseen: float, seen: float, launches: float
) -> None:
    below, beyond = (rule(Machine(STILL, 200, ("rival", x)), loss=x) for x in (unseen, seen))

    assert below.called.mean() < 1  # of a test that knows nothing of restarts nearly all are
    if unseen:
        assert not below.called.any()
    assert beyond.called.all()
    assert beyond.launches.mean() == pytest.approx(launches, rel=0.3)


@pytest.mark.parametrize(
    ("magnitude", "n", "theirs"), [(1.0, 10, 0.5708), (1.0, 20, 0.0859), (2.0, 10, 0.0073), (0.5, 60, 0.1904)]
)
def test_pinpoint_s_bounds_are_those_of_its_table(magnitude: float, n: int, theirs: float) -> None:
    assert same_above(magnitude, n) == pytest.approx(theirs, rel=0.25)
