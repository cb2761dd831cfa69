"""What the checks of software and models say, failing case by failing case. The hosts are in test_hosts.py."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.doctor.judged import ROOT, only, rig, said
from tests.session.rigs import small_rig
from tokgate.records.doctor import State
from tokgate.records.model import ModelConfig, ModelFolder
from tokgate.rig.load import load_rig
from tokgate.session.doctor import (
    arguments,
    models,
    software,
)

# --- software --------------------------------------------------------------------------------------------------------


def test_versions_that_the_gate_does_not_know() -> None:
    assert said(software.judge_known("0.5.23"))[0] is State.OK
    assert said(software.judge_known("main-abc"))[0] is State.WARN
    found = said(software.judge_known("0.9.0"))
    assert found[0] is State.NOTE
    assert "has not been read" in found[1]


def test_kernels_of_another_version() -> None:
    wants = {"torch": "2.8.0", "sgl-kernel": "0.3.9", "flashinfer-python": "0.4.0rc3"}
    has = {
        "package.torch": "2.8.0+cu128",
        "package.sgl_kernel": "sgl-kernel 0.3.4",
        "package.flashinfer": "flashinfer-python 0.4.0rc3",
    }
    assert said(software.judge_packages(wants, has, cpu=False)) == (
        State.WARN,
        "sgl_kernel: sgl-kernel 0.3.4, SGLang asks for 0.3.9",
    )
    assert said(software.judge_packages(wants, has, cpu=True))[0] is State.NOTE
    has["package.sgl_kernel"] = "sgl-kernel 0.3.9"
    assert said(software.judge_packages(wants, has, cpu=False))[0] is State.OK


def test_an_argument_that_the_installed_version_does_not_have_is_refused_for_sure() -> None:
    wrong = rig("sim-8gpu", "server.args.tp_sizee=8")
    found = [r for r in arguments.judge_arguments(wrong, "0.5.23") if r.state is State.FAIL]
    assert "server.args.tp_sizee: no SGLang known here takes --tp-sizee" in only(found).found
    # Of a version that nobody has listed it may be right.
    assert [r.state for r in arguments.judge_arguments(wrong, "0.6.1")] == [State.WARN]
    assert said(arguments.judge_arguments(rig("sim-8gpu"), "0.5.23"))[0] is State.OK


def test_what_sglangs_own_parser_says() -> None:
    answer: dict[str, Any] = {"refused": {}, "missing": None, "broke": None}
    assert said(arguments.judge_parsed(answer, 3)) == (
        State.OK,
        "its own parser takes the lines of all 3 arms",
    )
    refused = {"baseline": "unrecognized arguments: --x 1", "eagle3": "unrecognized arguments: --x 1"}
    assert said(arguments.judge_parsed({**answer, "refused": refused}, 2)) == (
        State.FAIL,
        "its parser refuses the line of baseline, eagle3: unrecognized arguments: --x 1",
    )
    assert said(arguments.judge_parsed({**answer, "missing": "sgl_kernel"}, 2))[0] is State.FAIL
    assert said(arguments.judge_parsed({**answer, "broke": "RuntimeError: no driver"}, 2))[0] is State.UNKNOWN


def test_variables_that_nothing_reads() -> None:
    found = said(arguments.judge_variables(small_rig(), ["SGLANG_SIMULATE_ACC_LENGTH"], "0.5.23"))
    assert found == (
        State.WARN,
        "no file of SGLang 0.5.23 mentions SGLANG_SIMULATE_ACC_LENGTH: it has no effect",
    )
    assert said(arguments.judge_variables(small_rig(), None, "0.5.23"))[0] is State.UNKNOWN
    assert said(arguments.judge_variables(small_rig(), [], "0.5.23"))[0] is State.OK


# --- models ----------------------------------------------------------------------------------------------------------

WHOLE = ModelFolder(
    path="/models/target",
    here=True,
    config=ModelConfig(architectures=("LlamaForCausalLM",), dtype="bfloat16", layers=32),
    weight_bytes=16 << 30,
    weight_files=4,
    tokenizer_files=("tokenizer.json",),
)


@pytest.mark.parametrize(
    ("changes", "state", "words"),
    [
        ({}, State.OK, "/models/target: LlamaForCausalLM, bfloat16, 16.0 GiB in 4 files, 32 layers"),
        (
            {"here": False, "why": "No such file or directory"},
            State.FAIL,
            "/models/target: no such file or directory",
        ),
        (
            {"config": None, "why_no_config": "no"},
            State.FAIL,
            "/models/target has no config.json that can be read: no",
        ),
        (
            {"missing_files": ("model-2.safetensors",)},
            State.FAIL,
            "/models/target lacks files of its weights: model-2",
        ),
        ({"weight_bytes": None}, State.FAIL, "/models/target has a config.json and no weights"),
        ({"tokenizer_files": ()}, State.FAIL, "/models/target has no tokenizer"),
        (
            {"config": ModelConfig(own_code=True)},
            State.FAIL,
            "/models/target brings Python files of its own (auto_map)",
        ),
        (
            {"path": "meta-llama/Llama", "here": False},
            State.WARN,
            "meta-llama/Llama is a name on a hub: the first start",
        ),
    ],
)
def test_a_models_folder(changes: dict[str, Any], state: State, words: str) -> None:
    folder = WHOLE.model_copy(update=changes)
    found = said(
        models.judge_folder(folder, key="server.model_path", simulated=False, rig=small_rig(), draft=False)
    )
    assert found[0] is state
    assert found[1].startswith(words)


def test_a_name_on_a_hub_with_the_server_kept_offline() -> None:
    folder = WHOLE.model_copy(update={"path": "meta-llama/Llama", "here": False})
    kept = load_rig("sglang-cpu", root=ROOT)
    found = said(models.judge_folder(folder, key="server.model_path", simulated=False, rig=kept, draft=False))
    assert found[1].startswith("meta-llama/Llama is a name on a hub, and the rig keeps the server offline")


def test_dummy_weights_are_named() -> None:
    dummy = rig("sglang-cpu", "server.args.load_format=dummy")
    found = said(models.judge_folder(WHOLE, key="server.model_path", simulated=False, rig=dummy, draft=False))
    assert found == (State.WARN, "load_format is dummy: weights are random, and acceptance says nothing")
