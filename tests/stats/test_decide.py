from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from tokgate.records import Outcome
from tokgate.stats.bounds import MODES, bounds, by_modes, of_twins, runs_to_confirm, spent
from tokgate.stats.decide import decide
from tokgate.stats.decision import Decision, Rule
from tokgate.stats.levels import RunValues, Spread

RULE = Rule(higher_is_better=True, relative=0.02, absolute=0.0, level=0.0012)
STARTS = (0.9995, 0.9998, 1.0, 1.0, 1.0002, 1.0005)
QUIET = (100.0, 100.1, 99.95, 100.05, 99.9, 100.0)  # of six sessions


def runs(*values: float, session: str = "now") -> list[RunValues]:
    return [
        RunValues(session=session, launch=f"{n}", values=tuple(v * s for s in STARTS))
        for n, v in enumerate(values)
    ]


def stored(values: Sequence[float] = QUIET, each: int = 2) -> list[RunValues]:
    return [
        run
        for n, value in enumerate(values)
        for run in runs(*(value * (1 + 0.001 * i) for i in range(each)), session=f"{n}")
    ]


def against_stored(*now: float, before: Sequence[RunValues] | None = None, **rule: object) -> Decision:
    return decide(
        runs(*now), stored() if before is None else before, RULE.model_copy(update=rule), kind="stored"
    )


@pytest.mark.parametrize(
    ("now", "outcome"),
    [
        ((100.0,), Outcome.PASS),
        ((99.0,), Outcome.PASS),  # a loss, below the floor
        ((94.0, 94.1), Outcome.REGRESSED),
        ((94.0,), Outcome.INCONCLUSIVE),  # two modes of restarts could be that far apart
        ((98.2, 98.3), Outcome.PASS),  # established, and below the floor all the same
        ((97.5,), Outcome.INCONCLUSIVE),
        ((106.0,), Outcome.IMPROVED),
    ],
)
def test_a_number_beside_its_stored_baseline(now: tuple[float, ...], outcome: Outcome) -> None:
    assert against_stored(*now).outcome is outcome


def test_where_less_is_better_more_is_a_loss() -> None:
    slower, quicker = ((against_stored(v, v, higher_is_better=False)) for v in (107.0, 93.0))

    assert (slower.outcome, quicker.outcome) == (Outcome.REGRESSED, Outcome.IMPROVED)
    assert slower.loss == pytest.approx(0.07, abs=0.002)
    assert slower.change == pytest.approx(slower.loss)


def test_a_loss_and_a_gain_mirror_each_other() -> None:
    loss = against_stored(95.0, 95.1)
    gain = decide(stored(), runs(95.0, 95.1), RULE, kind="twin")

    assert loss.loss > 0 > gain.loss
    assert loss.interval[0] < loss.change < loss.interval[1] < 0


def test_a_loss_of_one_run_asks_for_the_restarts_that_confirm_it() -> None:
    found = against_stored(94.0)

    assert found.established
    assert not found.confirmed
    assert found.wants.now == 1
    assert against_stored(94.0, confirm=False).outcome is Outcome.REGRESSED


def test_both_floors_must_be_exceeded() -> None:
    assert against_stored(94.0, 94.1, absolute=7.0).outcome is not Outcome.REGRESSED


def test_what_the_machine_moved_by_itself_is_nobodys_loss() -> None:
    now, rule = runs(95.0, 95.1), Rule(higher_is_better=True, relative=0.02, absolute=0.0, level=0.0012)
    still, moving = (decide(now, stored(), rule, kind="stored", moved=moved) for moved in (0.0, 0.045))
    assert still.outcome is Outcome.REGRESSED
    assert moving.outcome is Outcome.INCONCLUSIVE
    assert moving.smallest == pytest.approx(still.smallest + 0.045)
    assert decide(now, stored(), rule, kind="stored", moved=0.01).outcome is Outcome.REGRESSED
    assert decide(now, stored(), rule, kind="stored", moved=None).outcome is Outcome.INCONCLUSIVE


def test_sessions_far_apart_say_that_nothing_could_have_been_seen() -> None:
    apart = stored((100.0, 105.0, 96.0, 102.0, 94.0, 103.0))

    found = against_stored(97.0, 97.1, before=apart)

    assert found.outcome is Outcome.INCONCLUSIVE
    assert found.smallest > 0.10
    assert found.between_sessions is not None
    assert found.between_sessions > 0.03


def test_one_stored_session_calls_no_loss_that_sessions_could_differ_by() -> None:
    """Sessions of one host were seen 4 to 6 % apart: one of them knows nothing of that."""
    one = runs(100.0, 100.1, session="then")

    assert against_stored(94.0, 94.1, 94.0, 94.1, before=one).outcome is Outcome.INCONCLUSIVE
    assert against_stored(100.0, 100.1, before=one).notes


def test_later_looks_are_stricter() -> None:
    first, third = (against_stored(96.9, 97.0, look=look) for look in (1, 3))

    assert third.level == first.level / 4
    assert third.low < first.low
    assert third.high > first.high


def test_what_all_looks_spend_stays_below_the_whole() -> None:
    assert 0.0099 < float(sum(spent(0.01, look) for look in range(1, 30))) < 0.01


@pytest.mark.parametrize(("sides", "needs"), [((1, 1), 6), ((2, 1), 5), ((2, 2), 4), ((4, 4), 0)])
def test_a_twin_with_nothing_stored_needs_four_of_each(sides: tuple[int, int], needs: int) -> None:
    before, now = sides
    found = decide(runs(*[94.0] * now), runs(*[100.0] * before), RULE, kind="twin")

    if needs:
        assert found.outcome is Outcome.INCONCLUSIVE
    else:
        assert found.outcome is Outcome.REGRESSED
    assert found.established or needs
    if found.established:
        assert found.wants.now + found.wants.before == needs


def test_stored_sessions_of_one_mode_each_spare_a_twin_restarts() -> None:
    found = decide(runs(96.0, 96.1), runs(100.0, 100.1), RULE, kind="twin", history=stored())

    assert found.outcome is Outcome.REGRESSED
    assert found.modes is not None
    assert found.modes < MODES


def test_stored_sessions_in_both_modes_spare_it_none() -> None:
    mixed = [run for n in range(6) for run in runs(100.0, 94.0, session=f"{n}")]

    found = decide(runs(94.0, 94.1), runs(100.0, 100.1), RULE, kind="twin", history=mixed)

    assert found.outcome is not Outcome.REGRESSED


@pytest.mark.parametrize(
    ("before", "now", "chance"),
    [(1, 1, 1 / 4), (5, 1, (1 / 6) * (5 / 6) ** 5), (4, 4, 2**-8), (0, 3, 1.0), (12, 2, 0.00321)],
)
def test_the_worst_share_of_a_slow_mode(before: int, now: int, chance: float) -> None:
    assert by_modes(before, now) == pytest.approx(chance, rel=0.01)


def test_no_share_of_a_slow_mode_shows_it_more_often_than_said() -> None:
    rng = np.random.default_rng(3)
    for share in (0.1, 0.2, 0.33, 0.5, 0.7, 0.9):
        slow = rng.random((200_000, 4)) < share
        pairs = rng.random((200_000, 3, 2)) < share
        seen = ~slow[:, :2].any(axis=1) & slow[:, 2:].all(axis=1)
        agree = (pairs[:, :, 0] == pairs[:, :, 1]).all(axis=1)

        assert seen.mean() < by_modes(2, 2) + 0.002
        assert (seen & agree).mean() < by_modes(2, 2, (2, 2, 2)) + 0.002


def test_how_many_runs_confirm() -> None:
    assert [runs_to_confirm(n) for n in (1, 4, 6, 12)] == [None, 4, 3, 2]
    assert runs_to_confirm(2, agreed=(2,) * 6) == 2


def test_thousands_at_once_are_as_one_at_a_time() -> None:
    rng = np.random.default_rng(5)
    before, now = np.log(rng.normal(100, 1, (40, 3))), np.log(rng.normal(98, 1, (40, 2)))
    ones = [
        decide(
            [RunValues(session="now", launch=str(i), values=(float(np.exp(v)),)) for i, v in enumerate(b)],
            [RunValues(session="now", launch=str(i), values=(float(np.exp(v)),)) for i, v in enumerate(a)],
            RULE,
            kind="twin",
        )
        for a, b in zip(before, now, strict=True)
    ]
    variance = np.array([one.between_runs**2 for one in ones])
    whole = bounds(
        now.mean(axis=-1) - before.mean(axis=-1),
        of_twins(*(Spread(variance, np.full(40, 7.0)),) * 2, runs_before=3, runs_now=2),
        reference=1.0,
        floor=0.02,
        alpha=spent(RULE.level, 1),
        beta=spent(RULE.miss, 1),
        higher_is_better=True,
    )

    for name in ("loss", "low", "high", "smallest", "p"):
        assert getattr(whole, name) == pytest.approx([getattr(one, name) for one in ones])


@pytest.mark.parametrize("true", [0.0, 0.03])
def test_bounds_hold_as_often_as_they_say(true: float) -> None:
    """Of a known spread: the lower bound of the loss is too high in `alpha` of cases, the upper one too low in `beta`."""
    n, alpha, beta = 100_000, 0.01, 0.05
    rng = np.random.default_rng(8)
    df = 9
    variance = 0.008**2 * stats.chi2.rvs(df, size=n, random_state=rng) / df
    difference = rng.normal(np.log1p(-true), 0.008, n)

    found = bounds(
        difference,
        Spread(variance, np.full(n, float(df))),
        reference=1.0,
        floor=0.02,
        alpha=alpha,
        beta=beta,
        higher_is_better=True,
    )

    assert np.mean(found.low > true) == pytest.approx(alpha, abs=0.001)
    assert np.mean(found.high < true) == pytest.approx(beta, abs=0.003)
    assert np.mean(found.regressed & (found.low > true)) <= alpha + 0.001


@pytest.mark.parametrize("kind", ["twin", "stored"])
def test_an_empty_side_or_a_number_that_is_none_is_refused(kind: str) -> None:
    with pytest.raises(ValueError, match="nothing can be judged"):
        decide([], stored(), RULE, kind=kind)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="positive and finite"):
        decide(runs(0.0), stored(), RULE, kind=kind)  # type: ignore[arg-type]
