from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.verdicts.baselines.test_file import make_baseline
from tests.verdicts.evidence import make_rig
from tokgate.verdicts.baselines.creep import beyond, budget_of, creep_of, crept
from tokgate.verdicts.baselines.file import BaselineFile, BaselineLaunch
from tokgate.verdicts.ledger import Accepted, Anchored, Level
from tokgate.verdicts.metrics import METRICS

RIG = make_rig()
SPEED, CYCLE, TTFT = METRICS["decode_tok_s"], METRICS["cycle_ms"], METRICS["ttft_ms"]


def level(value: float) -> Level:
    return Level(value=value, sessions=1, runs=1, starts=2)


def stored(anchor: float, *accepted: float, metric: str = "decode_tok_s") -> BaselineFile:
    """A baseline whose number went from the anchor through what was accepted, the last of it being stored now."""
    now = accepted[-1] if accepted else anchor
    return make_baseline(
        launches=(BaselineLaunch(run_id="r1", launch="01", samples={metric: ((now,), (now,))}),),
        anchor={
            metric: Anchored(**level(anchor).model_dump(), when="2026-11-01T00:00:00+00:00", why="first")
        },
        accepted=tuple(
            Accepted(when=f"2026-11-{day:02}", who="ada", why="why", levels={metric: level(value)})
            for day, value in enumerate(accepted, start=2)
        ),
    )


@pytest.mark.parametrize(
    ("levels", "spent", "lost"),
    [
        ((100.0,), 0.0, 0.0),
        ((100.0, 98.0), 0.02, 0.02),
        ((100.0, 98.0, 96.0), 0.04, 0.02 + 2 / 98),
        ((100.0, 98.0, 100.0), 0.0, 0.02),  # won back
        ((100.0, 110.0, 107.8), 0.02, 0.02),  # what was won is held to: no credit
        ((100.0, 98.0, 110.0, 99.0), 0.1, 0.02 + 0.1),
    ],
)
def test_creep_is_the_distance_from_the_best_that_was_accepted(
    levels: Sequence[float], spent: float, lost: float
) -> None:
    found = creep_of(RIG, stored(*levels), SPEED)

    assert found is not None
    assert found.spent == pytest.approx(spent)
    assert found.lost == pytest.approx(lost)
    assert crept(stored(*levels), SPEED) == pytest.approx(spent)


def test_of_a_time_more_is_worse() -> None:
    found = creep_of(RIG, stored(19.7, 20.3, metric="cycle_ms"), CYCLE)

    assert found is not None
    assert found.spent == pytest.approx(20.3 / 19.7 - 1)


def test_a_metric_that_is_not_stored_has_not_crept() -> None:
    assert creep_of(RIG, stored(100.0), CYCLE) is None
    assert crept(stored(100.0), CYCLE) is None


def test_the_budget_is_the_rigs_or_as_many_floors_of_a_metric_that_spreads() -> None:
    assert budget_of(RIG, SPEED, 88.8) == pytest.approx(0.05)
    assert budget_of(RIG, TTFT, 500.0) == pytest.approx(0.25)  # 2.5 floors of 10 %
    assert budget_of(RIG, TTFT, 20.0) == pytest.approx(2.5 * 5 / 20)  # and of 5 ms
    tight = make_rig(baselines={"creep": 0.08})
    assert budget_of(tight, SPEED, 88.8) == pytest.approx(0.08)


def test_only_an_update_that_loses_more_is_beyond_the_budget() -> None:
    assert beyond(RIG, None, stored(100.0)) == ()
    assert beyond(RIG, stored(100.0, 97.0), stored(100.0, 97.0, 96.0)) == ()
    (one,) = beyond(RIG, stored(100.0, 97.0), stored(100.0, 97.0, 94.0))
    assert one.over
    assert one.words == (
        "crept 6.0% of 5.0% since 2026-11-01 (100.0, now 94.0 tok/s; anchor 100.0 of 2026-11-01, 2 updates)"
    )
    assert beyond(RIG, stored(100.0, 94.0), stored(100.0, 94.0, 94.5)) == ()


def test_a_level_that_contradicts_the_samples_is_edited_by_hand() -> None:
    whole = stored(100.0, 97.0, 94.0)
    accepted = (
        *whole.accepted[:-1],
        whole.accepted[-1].model_copy(update={"levels": {"decode_tok_s": level(97.0)}}),
    )

    with pytest.raises(ValueError, match=r"the samples give 94, its level says 97: edited by hand"):
        BaselineFile.model_validate_json(whole.model_copy(update={"accepted": accepted}).model_dump_json())
    with pytest.raises(ValueError, match="an anchor that is not there"):
        BaselineFile.model_validate_json(whole.model_copy(update={"anchor": {}}).model_dump_json())
