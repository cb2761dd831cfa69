"""Which settings a sweep goes through, which it leaves out and why, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import make_rig
from tokgate.rig.models import Rig
from tokgate.rig.sweep import left_out, setting_of, settings_of, swept, swept_workloads, together

from .conftest import Checkout

SWEEP = '[sweep]\narm = "eagle3-2step"\n'


def sweep_rig(**keys: Any) -> Rig:
    return make_rig(sweep={"arm": "eagle3-2step", "num_steps": (1, 2, 3), **keys})


def with_args(rig: Rig, **args: Any) -> Rig:
    return rig.model_copy(update={"server": rig.server.model_copy(update={"args": args})})


def names(rig: Rig) -> list[str]:
    return [s.name for s in settings_of(rig)]


def test_a_chain_has_one_token_more_than_steps() -> None:
    assert names(sweep_rig()) == ["s1-k1-t2", "s2-k1-t3", "s3-k1-t4"]


def test_the_arms_own_setting_is_always_measured() -> None:
    assert names(sweep_rig(num_steps=(1, 4))) == ["s1-k1-t2", "s2-k1-t3", "s4-k1-t5"]


def test_of_trees_only_what_sglang_can_build_is_launched() -> None:
    rig = sweep_rig(topk=(1, 2), num_draft_tokens=(3, 7, 8))
    assert names(rig) == [
        "s1-k1-t2", "s1-k2-t3", "s2-k1-t3", "s2-k2-t3", "s2-k2-t7", "s3-k1-t4", "s3-k2-t7", "s3-k2-t8"
    ]  # fmt: skip
    assert {o.setting.name: o.why for o in left_out(rig)} == {
        "s1-k2-t7": "so small a tree has at most 3 tokens to verify",
        "s1-k2-t8": "so small a tree has at most 3 tokens to verify",
        "s2-k2-t8": "so small a tree has at most 7 tokens to verify",
        "s3-k2-t3": "the last of 3 steps could never be accepted: 4 tokens at least",
    }


@pytest.mark.parametrize(
    ("args", "why"),
    [
        ({"attention_backend": "trtllm_mha"}, "trtllm_mha takes topk = 1 only"),
        ({"decode_attention_backend": "trtllm_mha"}, "trtllm_mha takes topk = 1 only"),
        ({"speculative_use_rejection_sampling": True}, "rejection sampling takes topk = 1 only"),
        (
            {"attention_backend": "flashmla", "page_size": 64},
            "a tree with page_size = 64 needs one of flashinfer, fa3, triton, not flashmla",
        ),
    ],
)
def test_an_argument_that_rules_trees_out_is_named(args: dict[str, Any], why: str) -> None:
    rig = with_args(sweep_rig(topk=(1, 4), num_draft_tokens=(5,)), **args)
    assert names(rig) == ["s1-k1-t2", "s2-k1-t3", "s3-k1-t4"]
    assert [o.why for o in left_out(rig)] == [why] * 3


@pytest.mark.parametrize("args", [{"attention_backend": "fa3", "page_size": 64}, {"page_size": 64}, {}])
def test_what_sglang_may_well_take_is_tried(args: dict[str, Any]) -> None:
    assert "s3-k4-t5" in names(with_args(sweep_rig(topk=(4,), num_draft_tokens=(5,)), **args))


def test_a_launch_has_its_setting_and_the_sweeps_workloads() -> None:
    rig = sweep_rig(workloads=("single",), repeats=9)
    own = swept(rig, "07-sweep-s3-k1-t4")
    arm = own.arm("eagle3-2step")
    assert (arm.num_steps, arm.topk, arm.num_draft_tokens) == (3, 1, 4)
    assert own.arm("eagle3-pinned") == rig.arm("eagle3-pinned")
    assert [(w.name, w.repeats) for w in own.workloads] == [("single", 9)]


def test_a_twin_has_the_workloads_and_no_setting() -> None:
    rig = sweep_rig()
    own = swept(rig, "07-sweep-control")
    assert own.arms == rig.arms
    assert own.workloads == swept_workloads(rig) == rig.workloads
    assert setting_of(rig, "07-sweep-control") is None
    assert setting_of(rig, "02-eagle3-2step") is None


def test_settings_in_words() -> None:
    chains = settings_of(sweep_rig())
    assert [s.words for s in chains] == ["1 step", "2 steps", "3 steps"]
    assert together(chains) == "1, 2 and 3 steps"
    trees = settings_of(sweep_rig(num_steps=(2,), topk=(4,), num_draft_tokens=(8,)))
    assert together(trees) == "2 steps and 2 steps, topk 4, 8 tokens"


BROKEN = [
    ('[sweep]\narm = "eagle"\nnum_steps = [1]\n', 'sweep.arm: found "eagle"; wanted an eagle3 arm of this rig, nearest known name: "eagle3-2step"'),
    ('[sweep]\narm = "baseline"\nnum_steps = [1]\n', 'sweep.arm: found "baseline"; wanted an eagle3 arm'),
    (f"{SWEEP}num_steps = []\n", "sweep.num_steps: found []"),
    (f"{SWEEP}num_steps = [0, 1]\n", "sweep.num_steps[0]: found 0"),
    (f"{SWEEP}num_steps = [1, 1]\n", "sweep.num_steps: found [1, 1]; wanted each of them once"),
    (f'{SWEEP}num_steps = [1]\nworkloads = ["singel"]\n', 'sweep.workloads[0]: found "singel"; wanted a workload of this rig, nearest known name: "single"'),
    (f"{SWEEP}num_steps = [2]\n", "sweep: found no setting that can be launched besides 2 steps, the arm's own; wanted two or more"),
    (f"{SWEEP}num_steps = [1]\ntopk = [4]\n", "sweep.num_draft_tokens: found nothing; wanted how many tokens are verified of a tree"),
    (f"{SWEEP}num_steps = [1]\nnum_draft_tokens = [2]\n", "sweep.num_draft_tokens: found [2]; wanted no such key: with topk = 1"),
    (
        f"{SWEEP}num_steps = [1, 2, 3]\nmost = 4\n",
        "sweep.most: found 4 with 5 launches (3 settings and 2 of the control arm, 15 generations); wanted fewer settings, or most = 5",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("table", "expected"), BROKEN, ids=[str(i) for i in range(len(BROKEN))])
def test_a_sweep_that_makes_no_sense_is_refused(checkout: Checkout, table: str, expected: str) -> None:
    checkout.write(add=table)
    assert expected in str(checkout.refusal())


def test_pinned_acceptance_cannot_be_swept(checkout: Checkout) -> None:
    natural = '[[arms]]\nname = "other"\nkind = "eagle3"\ndraft_model_path = "d"\nnum_steps = 2\ntopk = 1\nnum_draft_tokens = 3\n'
    checkout.write(("topk = 1", "topk = 1\nacceptance = 2.5"), add=f"{natural}{SWEEP}num_steps = [1, 2]\n")
    assert (
        'sweep.arm: found "eagle3-2step" with acceptance = 2.5; wanted an arm with natural acceptance'
        in str(checkout.refusal())
    )


def test_a_sweep_in_order(checkout: Checkout) -> None:
    checkout.write(add=f"{SWEEP}num_steps = [1, 2]\n")
    assert names(checkout.load()) == ["s1-k1-t2", "s2-k1-t3"]
