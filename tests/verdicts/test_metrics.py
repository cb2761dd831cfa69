from __future__ import annotations

from tests.verdicts.evidence import make_rig
from tokgate.records.metric_names import METRIC_NAMES, PHASE_METRIC_NAMES, TOKEN_METRIC_NAMES
from tokgate.stats.bounds import DETECT
from tokgate.stats.samples import UNITS
from tokgate.verdicts.metrics import METRICS, floor_of, floor_text, throughput_metric


def test_the_table_holds_every_metric_that_a_rig_may_name() -> None:
    assert set(METRICS) == set(METRIC_NAMES)
    others = {*PHASE_METRIC_NAMES, *TOKEN_METRIC_NAMES}
    assert {name: m.unit for name, m in METRICS.items() if name not in others} == UNITS


def test_every_metric_has_floors_above_zero() -> None:
    """What is compared as a difference has none of the relative kind: a share of 0.01 more is as much of 0.1 as of 0.9."""
    assert all(m.absolute_floor > 0 for m in METRICS.values())
    assert all((m.relative_floor > 0) is (m.scale == "ratio") for m in METRICS.values())


def test_three_per_cent_of_speed_can_be_seen() -> None:
    """The loss that a pass excludes is half as much again as the floor."""
    for name in ("decode_tok_s", "total_tok_s", "cycle_ms", "tpot_ms", "e2e_ms", "verify_ms"):
        assert METRICS[name].relative_floor * DETECT <= 0.03


def test_a_loss_is_positive_whichever_way_a_metric_points() -> None:
    assert METRICS["decode_tok_s"].loss(-0.1) == 0.1
    assert METRICS["ttft_ms"].loss(0.1) == 0.1


def test_the_rig_may_set_its_own_floors() -> None:
    rig = make_rig(floors={"decode_tok_s": {"relative": 0.2, "absolute": 2.0}})

    assert floor_text(floor_of(rig, METRICS["decode_tok_s"]), METRICS["decode_tok_s"]) == (
        "20.0% and 2 tok/s, both exceeded"
    )
    assert floor_of(rig, METRICS["cycle_ms"]).relative == 0.02


def test_the_speed_of_many_streams_is_their_sum() -> None:
    assert throughput_metric(1).name == "decode_tok_s"
    assert throughput_metric(8).name == "total_tok_s"
