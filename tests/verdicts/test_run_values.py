from __future__ import annotations

import pytest

from tests.verdicts.evidence import make_launch, make_rig, series
from tokgate.verdicts.establish import Established, establish_workload
from tokgate.verdicts.metrics import METRICS
from tokgate.verdicts.run_values import asked_of, values_now

RIG = make_rig()
DECODE = METRICS["decode_tok_s"]


def of(rate: float, *, role_round: int = 0, workload: str = "pair") -> Established:
    launch = make_launch(series((rate,) * 4, workload=workload, concurrency=2))
    planned = launch.launch.model_copy(update={"round": role_round})
    found = establish_workload(RIG, launch.model_copy(update={"launch": planned}), workload, check="x")
    assert isinstance(found, Established), found
    return found


def test_a_run_has_one_value_a_start_and_runs_stay_apart() -> None:
    first, second = values_now((of(40.0), of(41.0)), "decode_tok_s")

    assert first.values == pytest.approx((40.0,) * 4)  # of two streams each
    assert second.values == pytest.approx((41.0,) * 4)
    assert first.session == second.session


def test_a_run_that_does_not_know_the_metric_is_left_out() -> None:
    known, silent = of(40.0), of(41.0)
    silent = silent.model_copy(update={"series": {}})

    assert len(values_now((known, silent), "decode_tok_s")) == 1


def test_what_is_asked_comes_from_the_table_the_floors_and_the_sampling_of_the_rig() -> None:
    rig = make_rig(
        floors={"decode_tok_s": {"relative": 0.04, "absolute": 2.0}},
        sampling={"false_alarm": 0.02, "power": 0.9, "gpu_time_s": 0},
    )
    asked, usual = (asked_of(r, "stored", DECODE, "single", (of(40.0),)) for r in (rig, RIG))

    assert (asked.rule.relative, asked.rule.absolute) == (0.04, 2.0)
    assert asked.rule.level == pytest.approx(2 * usual.rule.level)
    assert asked.rule.miss == pytest.approx(0.1)
    assert (asked.rule.confirm, usual.rule.confirm) == (False, True)
    assert asked.rule.higher_is_better
    assert not asked_of(rig, "stored", METRICS["ttft_ms"], "single", (of(40.0),)).rule.higher_is_better


def test_the_speed_of_a_workload_has_more_to_spend_than_all_else() -> None:
    speed, other = (
        asked_of(RIG, "stored", METRICS[name], "single", (of(40.0),)).rule.level
        for name in ("decode_tok_s", "e2e_ms")
    )

    assert speed > 10 * other


def test_every_decision_to_go_on_is_a_look() -> None:
    """Two restarts of one decision are one look more, since nobody looked between them."""
    looks = [
        asked_of(RIG, "stored", DECODE, "pair", [of(40.0, role_round=n) for n in rounds]).rule.look
        for rounds in ((0, 0), (0, 1, 1), (0, 1, 2))
    ]

    assert looks == [1, 2, 3]
