from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import EAGLE3, make_rig
from tokgate.rig.limits import Floor
from tokgate.rig.loosened import loosened

FLOORS = {"decode_tok_s": Floor(relative=0.02, absolute=0.5)}
SPEED = {"metric": "decode_tok_s", "at_least": 80.0}
SINGLE = {"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": 8, "warmup": 2}
STRICT: dict[str, Any] = {
    "budgets": [
        SPEED,
        {"metric": "verify_ms", "at_most": 19.6},
        {"metric": "verify_ms", "break_even_margin": 0.02},
    ],
    "floors": {"cycle_ms": {"relative": 0.02, "absolute": 0.1}},
    "twins": [{"at_least": 1.05}],
    "workloads": [SINGLE],
    "baselines": {"expired": "inconclusive"},
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"budgets": [{**SPEED, "at_least": 70.0}, *STRICT["budgets"][1:]]},
         "budgets (decode_tok_s, arm *, workload *).at_least: 80 -> 70"),
        ({"budgets": [SPEED, {"metric": "verify_ms", "at_most": 25.0}, STRICT["budgets"][2]]},
         "budgets (verify_ms, arm *, workload *).at_most: 19.6 -> 25"),
        ({"budgets": [*STRICT["budgets"][:2], {"metric": "verify_ms", "break_even_margin": 0.0}]},
         "budgets (verify_ms, arm *, workload *).break_even_margin: 0.02 -> 0"),
        ({"budgets": STRICT["budgets"][1:]}, "budgets (decode_tok_s, arm *, workload *).at_least: 80 -> not set"),
        ({"floors": {"cycle_ms": {"relative": 0.05, "absolute": 0.1}}}, "floors.cycle_ms.relative: 0.02 -> 0.05"),
        ({"floors": {**STRICT["floors"], "decode_tok_s": {"relative": 0.04, "absolute": 0.5}}},
         "floors.decode_tok_s.relative: 0.02 -> 0.04"),
        ({"floors": {"cycle_ms": {"relative": 0.02, "absolute": 0.1, "stored": 0.05}}},
         "floors.cycle_ms.stored: 0.02 -> 0.05"),
        ({"twins": [{"at_least": 1.0}]}, "twins (arm *, workload *).at_least: 1.05 -> 1"),
        ({"twins": []}, "twins (arm *, workload *).at_least: 1.05 -> not set"),
        ({"workloads": [{**SINGLE, "repeats": 4}]}, "workloads single.repeats: 8 -> 4"),
        ({"workloads": [{**SINGLE, "warmup": 0}]}, "workloads single.warmup: 2 -> 0"),
        ({"workloads": [{**SINGLE, "name": "other"}]}, "workloads single: 8 repeats -> not set"),
        ({"baselines": {}}, "baselines.expired: inconclusive -> warn"),
        ({"baselines": {"expired": "inconclusive", "creep": 0.2}}, "baselines.creep: 0.05 -> 0.2"),
        ({"baselines": {"expired": "inconclusive", "expire_days": 9000.0}}, "baselines.expire_days: 30 -> 9000"),
        ({"baselines": {"expired": "inconclusive", "raise_sessions": 1}}, "baselines.raise_sessions: 2 -> 1"),
        ({"sampling": {"false_alarm": 0.0001}}, "sampling.false_alarm: 0.01 -> 0.0001"),
        ({"sampling": {"power": 0.8}}, "sampling.power: 0.95 -> 0.8"),
        ({"gpus": {"count": 0, "tolerance_mib": 2048.0}}, "gpus.tolerance_mib: 0 -> 2048"),
        ({"lossless": None}, "lossless: exact -> not set"),
        ({"nccl_proof": {"skip": "slow"}}, "nccl_proof.skip: not set -> slow"),
        ({"arms": [{"name": "baseline", "kind": "baseline"}, {"name": "eagle3-2step", **EAGLE3}]},
         "arms eagle3-pinned: eagle3 -> not set"),
    ],
)  # fmt: skip
def test_every_way_to_ask_less_is_named(changes: dict[str, Any], words: str) -> None:
    (one,) = loosened(make_rig(**STRICT), make_rig(**{**STRICT, **changes}), FLOORS)

    assert one.words == words


PARTICULAR = {"arm": "eagle3-2step", "workload": "single", "at_least": 0.1}


def test_a_more_particular_twin_is_named_where_it_asks_less_than_what_held_before() -> None:
    """Its line is new and no line has changed: what counts for that arm and workload is another limit."""
    before, now = make_rig(twins=[{"at_least": 1.0}]), make_rig(twins=[{"at_least": 1.0}, PARTICULAR])
    (one,) = loosened(before, now, FLOORS)

    assert one.words == "twins (arm eagle3-2step, workload single).at_least: 1 -> 0.1"
    assert loosened(now, before, FLOORS) == ()


def test_a_budget_under_a_tighter_one_may_go_and_one_written_out_by_arm_is_the_same() -> None:
    wide = {"metric": "decode_tok_s", "at_least": 40.0}
    by_arm = [{**SPEED, "arm": arm.name} for arm in make_rig().arms]
    before = make_rig(budgets=[SPEED, wide])

    assert loosened(before, make_rig(budgets=[SPEED]), FLOORS) == ()
    assert loosened(before, make_rig(budgets=by_arm), FLOORS) == ()
    (one,) = loosened(before, make_rig(budgets=[wide]), FLOORS)
    assert one.words == "budgets (decode_tok_s, arm *, workload *).at_least: 80 -> 40"


def test_a_budget_that_no_longer_holds_for_an_arm_is_named() -> None:
    narrowed = [{**SPEED, "arm": arm.name} for arm in make_rig().arms if arm.name != "eagle3-2step"]
    (one,) = loosened(make_rig(budgets=[SPEED]), make_rig(budgets=narrowed), FLOORS)

    assert one.words == "budgets (decode_tok_s, arm *, workload *).at_least: 80 -> not set"


def test_asking_more_or_the_same_is_no_loosening() -> None:
    tighter = {
        **STRICT,
        "budgets": [
            {**SPEED, "at_least": 90.0},
            *STRICT["budgets"][1:],
            {"metric": "ttft_ms", "at_most": 50.0},
        ],
        "floors": {"cycle_ms": {"relative": 0.01, "absolute": 0.1}},
        "workloads": [{**SINGLE, "repeats": 20}],
        "baselines": {"expired": "inconclusive", "creep": 0.01},
    }

    assert loosened(make_rig(**STRICT), make_rig(**tighter), FLOORS) == ()
    assert loosened(make_rig(**STRICT), make_rig(**STRICT), FLOORS) == ()
