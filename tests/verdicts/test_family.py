from __future__ import annotations

import math

import pytest

from tests.verdicts.evidence import make_rig
from tests.verdicts.side_evidence import side_rig
from tokgate.rig.models import Rig
from tokgate.verdicts.family import Kind, chance, handed_on, share_of
from tokgate.verdicts.metrics import METRICS, throughput_metric
from tokgate.verdicts.side_compare import metrics_of


def stored_level(rig: Rig) -> float:
    """What all comparisons of a session with stored baselines are given together."""
    return math.fsum(
        share_of(rig, "stored", metric, workload.name, false_alarm=0.01).level
        for _ in rig.arms
        for workload in rig.workloads
        for metric in METRICS.values()
        if metric.stored
    )


def test_a_sessions_comparisons_together_get_no_more_than_the_whole() -> None:
    assert 0 < stored_level(make_rig()) <= 0.006 + 1e-12


def test_the_throughput_gets_most_and_a_busier_rig_less() -> None:
    rig = make_rig()
    workload = rig.workloads[0]
    primary = throughput_metric(workload.concurrency)
    own = share_of(rig, "stored", primary, workload.name, false_alarm=0.01).level
    other = share_of(rig, "stored", METRICS["ttft_ms"], workload.name, false_alarm=0.01).level
    assert own > 10 * other
    more = rig.model_copy(
        update={"workloads": (*rig.workloads, workload.model_copy(update={"name": "another"}))}
    )
    assert share_of(more, "stored", primary, workload.name, false_alarm=0.01).level < own


def test_what_is_called_hands_its_level_on() -> None:
    levels = {"a": 0.008, "b": 0.001, "c": 0.001}
    assert handed_on(levels, ()) == levels
    assert handed_on(levels, ("a",)) == pytest.approx({"b": 0.005, "c": 0.005})
    assert handed_on(levels, ("a", "c")) == pytest.approx({"b": 0.01})
    assert handed_on(levels, ("a", "b", "c")) == {}


def test_a_chance_is_told_by_the_digits_that_count() -> None:
    assert (chance(0.0012), chance(0.0000427)) == ("0.12%", "0.0043%")


def test_a_session_on_a_change_gives_half_to_it_and_the_whole_stays_what_it_was() -> None:
    rig, plain = side_rig(), make_rig()
    of_change = math.fsum(
        share_of(rig, "side", metric, workload.name, false_alarm=0.01).level
        for arm in rig.arms
        for workload in rig.workloads
        for metric in metrics_of(rig, arm.name, workload.name)
    )
    assert of_change == pytest.approx(0.005)
    kinds: tuple[Kind, ...] = ("stored", "limit", "twin")
    for kind in kinds:
        metric, workload = throughput_metric(1), rig.workloads[0].name
        own = share_of(rig, kind, metric, workload, false_alarm=0.01).level
        assert own == pytest.approx(share_of(plain, kind, metric, workload, false_alarm=0.01).level / 2)
