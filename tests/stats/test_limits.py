"""Runs of an arm against a limit, and the ratio to a twin against one."""

from __future__ import annotations

import pytest

from tokgate.records import Outcome
from tokgate.stats.against_limit import against_limit
from tokgate.stats.decide import decide
from tokgate.stats.decision import Decision, Rule
from tokgate.stats.levels import RunValues

RULE = Rule(higher_is_better=True, relative=0.02, absolute=0.0, level=0.0005)


def runs(*values: float, session: str = "now") -> list[RunValues]:
    """Runs of six starts that agree to a fifth of a per cent."""
    starts = (0.998, 0.999, 1.0, 1.0, 1.001, 1.002)
    return [
        RunValues(session=session, launch=f"{n}", values=tuple(v * s for s in starts))
        for n, v in enumerate(values)
    ]


def ratio(now: list[RunValues], before: list[RunValues], limit: float, **rule: object) -> Decision:
    own = RULE.model_copy(update={"same_configuration": False, **rule})
    return decide(now, before, own, kind="twin", limit_ratio=limit)


@pytest.mark.parametrize(
    ("values", "outcome"),
    [
        ((110.0,), Outcome.PASS),
        ((90.0,), Outcome.INCONCLUSIVE),  # one run, however slow
        ((89.0, 89.5), Outcome.REGRESSED),
        ((95.0, 95.2), Outcome.INCONCLUSIVE),  # as far as two modes may lie apart
        ((95.0, 95.2, 95.1, 95.0), Outcome.INCONCLUSIVE),
        ((95.0, 95.2, 95.1, 95.0, 95.1), Outcome.REGRESSED),
        ((100.2, 99.9), Outcome.INCONCLUSIVE),
        ((80.0, 101.0), Outcome.INCONCLUSIVE),  # the mean lies 10 % below, one of the two does not
        ((80.0, 80.5, 101.0), Outcome.INCONCLUSIVE),
    ],
)
def test_a_limit_is_missed_by_runs_that_agree(values: tuple[float, ...], outcome: Outcome) -> None:
    assert against_limit(runs(*values), 100.0, RULE).outcome is outcome


@pytest.mark.parametrize("limit", [0.9, 1.0, 1.2])
def test_a_ratio_is_held_against_its_limit_as_a_value_is(limit: float) -> None:
    twin = runs(100.0, 100.2)

    assert ratio(runs(105.0 * limit), twin, limit).outcome is Outcome.PASS
    assert ratio(runs(100.1 * limit), twin, limit).outcome is Outcome.INCONCLUSIVE
    assert ratio(runs(88.0 * limit, 88.5 * limit), twin, limit).outcome is Outcome.REGRESSED


def of_sessions(*values: float, each: int = 2) -> list[RunValues]:
    return [run for n, v in enumerate(values) for run in runs(*[v] * each, session=f"stored-{n}")]


def test_stored_runs_of_one_mode_save_restarts() -> None:
    """5 % below a limit, with none stored, with six runs that keep it, and with six sessions that miss it too."""
    near = runs(95.0, 95.1)
    alone, kept, missing = (
        against_limit(near, 100.0, RULE, history=stored)
        for stored in ((), of_sessions(*[101.0] * 6, each=1), of_sessions(*[95.0, 95.2, 94.9] * 2))
    )

    assert (alone.outcome, alone.wants.now) == (Outcome.INCONCLUSIVE, 3)
    assert (kept.outcome, kept.wants.now) == (Outcome.INCONCLUSIVE, 1)
    assert missing.outcome is Outcome.REGRESSED
    assert alone.modes == pytest.approx((1 / 3) ** 2)


def test_a_ratio_near_its_limit_takes_runs_of_both_sides() -> None:
    planned = ratio(runs(92.0), runs(100.0, 100.1), 1.0)
    assert (planned.outcome, planned.wants.now, planned.wants.before) == (Outcome.INCONCLUSIVE, 3, 2)
    assert ratio(runs(*[95.0] * 4), runs(*[100.0] * 4), 1.0).outcome is Outcome.REGRESSED

    of_the_twin = of_sessions(*[100.0] * 6)
    own = RULE.model_copy(update={"same_configuration": False})
    again = decide(
        runs(95.0, 95.1), runs(100.0, 100.1), own, kind="twin", limit_ratio=1.0, beside=of_the_twin
    )
    assert again.outcome is Outcome.REGRESSED


def test_a_count_is_the_same_in_either_mode() -> None:
    counted = RULE.model_copy(update={"timed": False})
    assert against_limit(runs(95.0, 95.2), 100.0, counted).outcome is Outcome.REGRESSED


def test_change_is_of_the_twin_and_loss_of_the_limit() -> None:
    found = ratio(runs(132.0), runs(100.0), 1.2)

    assert found.change == pytest.approx(0.32, abs=1e-3)
    assert found.loss == pytest.approx(-0.1, abs=1e-3)
    assert found.interval[0] < 0.32 < found.interval[1]
    assert (found.floor, found.detect) == (0.0, 0.0)


def test_a_win_over_a_limit_is_no_improvement() -> None:
    assert ratio(runs(150.0), runs(100.0), 1.0).outcome is Outcome.PASS


def test_one_run_that_misses_by_far_wants_a_second() -> None:
    found = ratio(runs(88.0), runs(100.0, 100.2), 1.0)

    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.established
    assert found.wants.now == 1
    assert ratio(runs(90.0), runs(100.0, 100.2), 1.0, confirm=False).outcome is Outcome.REGRESSED


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf")])
def test_a_ratio_has_a_limit_that_can_be_one(limit: float) -> None:
    with pytest.raises(ValueError, match="positive, finite"):
        ratio(runs(1.0), runs(1.0), limit)
    with pytest.raises(ValueError, match="of a ratio"):
        ratio(runs(1.0), runs(1.0), 1.0, ratio=False)


def test_what_prompts_differ_by_is_no_noise_of_a_start() -> None:
    """The n-th start of every run has the same prompts: 10 % between prompts say nothing on the next server run."""
    prompts = (0.9, 1.1, 0.95, 1.08, 0.92, 1.05)
    same = [
        RunValues(session="now", launch=str(n), values=tuple(110 * p * k for p in prompts))
        for n, k in enumerate((1.0, 1.001))
    ]
    other = [same[0], same[1].model_copy(update={"values": same[1].values[::-1]})]

    assert against_limit(same, 105.0, RULE).outcome is Outcome.PASS
    assert against_limit(other, 105.0, RULE).outcome is Outcome.INCONCLUSIVE
    # Of a single run nobody can tell one from the other: a second is asked for, and not what would wear prompts down.
    alone = against_limit(same[:1], 105.0, RULE)
    assert (alone.outcome, alone.wants.now) == (Outcome.INCONCLUSIVE, 1)
    stored = [run.model_copy(update={"session": "stored"}) for run in same]
    assert against_limit(same[:1], 105.0, RULE, history=stored).outcome is Outcome.PASS


@pytest.mark.parametrize(("starts", "outcome"), [(1, Outcome.INCONCLUSIVE), (6, Outcome.PASS)])
def test_a_start_or_two_say_nothing_of_how_far_starts_differ(starts: int, outcome: Outcome) -> None:
    one = [RunValues(session="now", launch="1", values=(102.0,) * starts)]

    assert against_limit(one, 100.0, RULE).outcome is outcome
