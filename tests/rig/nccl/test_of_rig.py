"""What a whole rig says to NCCL: which table says it, and whether any rank would notice."""

from __future__ import annotations

from typing import Any

import pytest

from tokgate.records.nccl import NcclLint
from tokgate.rig.models import Rig
from tokgate.rig.nccl.of_rig import lint_rig

EAGLE3 = {"kind": "eagle3", "draft_model_path": "/d", "num_steps": 2, "topk": 1, "num_draft_tokens": 3}
RIGHT = {"NCCL_ALGO": "Ring", "NCCL_PROTO": "LL"}


def make(
    *,
    gpus: int = 8,
    args: dict[str, Any] | None = None,
    arm: dict[str, Any] | None = None,
    host: dict[str, str] | None = None,
    **server: Any,
) -> Rig:
    arguments = {"tp_size": 8, "disable_custom_all_reduce": True} if args is None else args
    return Rig.model_validate(
        {
            "name": "r",
            "host": {"environment": host or {}},
            "gpus": {"count": gpus},
            "server": {"python": "/p", "model_path": "/m", "args": arguments, "nccl": RIGHT, **server},
            "arms": [
                {"name": "baseline", "kind": "baseline"},
                {"name": "eagle3", **EAGLE3, **(arm or {})},
            ],
            "prompt_sets": {"ids": {"kind": "token-ids", "length": 8, "first_id": 3, "last_id": 99}},
            "workloads": [{"name": "single", "prompts": "ids", "output_tokens": 4, "repeats": 2}],
        }
    )


def of(findings: tuple[NcclLint, ...], variable: str) -> NcclLint:
    (found,) = [f for f in findings if f.variable == variable]
    return found


def test_a_tuned_rig_has_nothing_to_hear() -> None:
    assert lint_rig(make()) == ()


def test_the_block_is_judged() -> None:
    found = of(lint_rig(make(nccl={"NCCL_P2P_LEVEL": "sys"})), "NCCL_P2P_LEVEL")
    assert found.severity == "warning"
    assert found.do == "write SYS"


def test_an_arms_own_variable_is_judged_in_its_name() -> None:
    found = [
        f for f in lint_rig(make(arm={"environment": {"NCCL_P2P_LEVEL": "sys"}})) if f.severity == "warning"
    ]
    assert [f.what for f in found] == [
        'in the arm eagle3: NCCL ignores "sys" without a word: it knows LOC, NVL, PIX, PXB, PHB, SYS, in capitals'
    ]


def test_a_variable_outside_of_the_block_stays_when_tuning_is_off() -> None:
    found = of(lint_rig(make(environment={"NCCL_MAX_CTAS": "16"})), "NCCL_MAX_CTAS")
    assert found.severity == "note"
    assert "it stands in server.environment: the launch without NCCL tuning has it all the same" in found.what


@pytest.mark.parametrize("name", ["nccl_algo", "NCLL_ALGO", "NCCL_ALG"])
def test_a_misspelled_name_is_found_in_the_environment(name: str) -> None:
    found = [f for f in lint_rig(make(environment={name: "Tree"})) if f.severity == "warning"]
    assert found[0].variable == name
    assert "NCCL_ALGO" in found[0].do


@pytest.mark.parametrize(
    "name", ["SGLANG_NCCL_SO_PATH", "TORCH_NCCL_BLOCKING_WAIT", "PATH", "OMP_NUM_THREADS", "CUDA_HOME"]
)
def test_what_others_read_is_none_of_nccls_business(name: str) -> None:
    assert lint_rig(make(environment={name: "1"})) == ()


def test_a_value_from_the_hosts_shell_is_unknown() -> None:
    found = of(lint_rig(make(pass_environment=["PATH", "NCCL_P2P_LEVEL"])), "NCCL_P2P_LEVEL")
    assert found.severity == "warning"
    assert "the rig does not say what its value is there" in found.what


def test_a_value_from_the_rigs_host_table_is_known() -> None:
    rig = make(pass_environment=["NCCL_P2P_LEVEL"], host={"NCCL_P2P_LEVEL": "SYS"})
    assert of(lint_rig(rig), "NCCL_P2P_LEVEL").severity == "note"


def test_one_rank_hears_no_nccl() -> None:
    findings = lint_rig(make(gpus=1, args={"tp_size": 1}))
    found = of(findings, "server.nccl")
    assert found.severity == "warning"
    assert (
        "a server with one rank has nobody to talk to: the block does nothing in baseline, eagle3"
        in found.what
    )
    assert "server.args.disable_custom_all_reduce" not in {f.variable for f in findings}


def test_one_rank_without_a_block_is_nobodys_concern() -> None:
    assert lint_rig(make(gpus=1, args={"tp_size": 1}, nccl={})) == ()


def test_custom_all_reduce_may_leave_the_block_unused() -> None:
    found = of(lint_rig(make(args={"tp_size": 8})), "server.args.disable_custom_all_reduce")
    assert found.severity == "note"
    assert "off in baseline, eagle3" in found.what
    assert "disable_custom_all_reduce = true" in found.do


@pytest.mark.parametrize("name", ["enable_symm_mem", "enable_torch_symm_mem", "enable_mscclpp"])
def test_other_ways_past_nccl_are_named(name: str) -> None:
    rig = make(args={"tp_size": 8, "disable_custom_all_reduce": True, name: True})
    assert "right and unused" in of(lint_rig(rig), f"server.args.{name}").what


def test_idle_gpus_are_noted() -> None:
    found = of(lint_rig(make(args={"tp_size": 4, "disable_custom_all_reduce": True})), "gpus.count")
    assert found.severity == "note"
    assert found.what == "4 of 8 GPUs are used in baseline, eagle3, the others stay idle"
