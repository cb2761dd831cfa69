from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import eagle3, make_fingerprint, make_launch, make_rig, make_slate
from tokgate.errors import BaselineError
from tokgate.records import GpuSeen
from tokgate.rig.models import Rig
from tokgate.verdicts.baselines.identity import (
    Identity,
    differences,
    identity_hash,
    identity_of,
    identity_of_launch,
)


def identity(rig: Rig, arm: str = "eagle3-2step", **facts: Any) -> Identity:
    told: dict[str, Any] = {"sglang_version": "0.5.23", "gpu_names": ("H200", "H200"), **facts}
    return identity_of(rig, rig.arm(arm), rig.workload("single"), **told)


def changed(**update: Any) -> Rig:
    """A rig with one setting changed below server, the natural arm, the workload or the prompts."""
    raw = make_rig().model_dump()
    parts = {"server": raw["server"], "arm": raw["arms"][1], "workload": raw["workloads"][0]}
    parts |= {"prompts": raw["prompt_sets"]["ids"], "rig": raw}
    for place, values in update.items():
        parts[place].update(values)
    return Rig.model_validate(raw)


@pytest.mark.parametrize(
    ("update", "keys"),
    [
        ({"rig": {"simulated": True}}, {"simulated"}),
        ({"server": {"model_path": "/m"}}, {"model.path"}),
        ({"server": {"args": {"tp_size": 4}}}, {"args.tp_size"}),
        ({"server": {"nccl": {"NCCL_ALGO": "Tree"}}}, {"environment.NCCL_ALGO"}),
        ({"server": {"nccl": {}}}, {"environment.NCCL_ALGO"}),
        ({"server": {"required": ({"name": "a.patch", "text": "x"},)}}, {"sglang.required_patches"}),
        ({"arm": {"environment": {"X": "1"}}}, {"environment.X"}),
        ({"arm": {"args": {"page_size": 1}}}, {"args.page_size"}),
        ({"arm": {"draft_model_path": "/d"}}, {"speculation.draft_path"}),
        ({"arm": {"num_steps": 3}}, {"speculation.num_steps"}),
        ({"arm": {"topk": 4}}, {"speculation.topk"}),
        ({"arm": {"num_draft_tokens": 4}}, {"speculation.num_draft_tokens"}),
        ({"arm": {"acceptance": 2.0}}, {"speculation.acceptance"}),
        ({"workload": {"output_tokens": 8}}, {"workload.output_tokens"}),
        ({"workload": {"concurrency": 2}}, {"workload.concurrency"}),
        ({"workload": {"endpoint": "chat"}}, {"workload.endpoint"}),
        ({"workload": {"cache": "unique"}}, {"workload.cache"}),
        ({"prompts": {"seed": 1}}, {"workload.prompts"}),
        ({"prompts": {"length": 9}}, {"workload.prompts"}),
    ],
)
def test_a_setting_that_decides_what_is_measured(update: dict[str, Any], keys: set[str]) -> None:
    before, now = identity(make_rig()), identity(changed(**update))

    assert {d.key for d in differences(before, now)} == keys
    assert identity_hash(before) != identity_hash(now)


@pytest.mark.parametrize(
    "update",
    [
        {"rig": {"name": "other", "description": "another text"}},
        {"arm": {"name": "eagle3-2step"}},
        {"server": {"args": {"tp_size": 2, "port": 9, "host": "::", "api_key": "x"}}},
        {"server": {"args": {"port": 8000, "tp_size": "2"}}},
        {"server": {"args": {"tp_size": 2, "enable_metrics": False}}},
        {"server": {"start_timeout_s": 1.0}},
        {"workload": {"repeats": 99, "warmup": 9, "timeout_s": 1.0}},
    ],
)
def test_what_is_no_setting(update: dict[str, Any]) -> None:
    assert identity(make_rig()) == identity(changed(**update))


@pytest.mark.parametrize(
    ("facts", "key"),
    [
        ({"sglang_version": "0.5.24"}, "sglang.version"),
        ({"gpu_names": ("H100", "H100")}, "gpus.model"),
        ({"gpu_names": ("H200",)}, "gpus.count"),
        ({"model_config": "abc"}, "model.config"),
        ({"draft_config": "abc"}, "speculation.draft_config"),
    ],
)
def test_a_fact_that_decides_what_is_measured(facts: dict[str, Any], key: str) -> None:
    assert {d.key for d in differences(identity(make_rig()), identity(make_rig(), **facts))} == {key}


def test_two_arms_of_the_same_settings_are_the_same() -> None:
    """Names are not settings."""
    rig = make_rig()
    twin = rig.arm("eagle3-2step").model_copy(update={"name": "another-name"})
    told: dict[str, Any] = {"sglang_version": "0.5.23", "gpu_names": ()}

    assert identity_of(rig, twin, rig.workload("single"), **told) == identity_of(
        rig, rig.arm("eagle3-2step"), rig.workload("single"), **told
    )


def test_the_hash_is_over_canonical_json() -> None:
    r"""Recomputable by hand: printf '{"a":"\u00e4","b":"1"}' | sha256sum."""
    assert identity_hash({"b": "1", "a": "ä"}) == identity_hash({"a": "ä", "b": "1"})
    assert identity_hash({"a": "ä", "b": "1"}) == (
        "8e5254e9a3d9b74c0a523365f7c3b97b73642fcbe7f6c121d14574b57e4bb994"
    )


def test_a_measured_identity_takes_its_facts_from_the_evidence() -> None:
    told = make_fingerprint({"model.config_sha256": "m1", "draft.eagle3-2step.config_sha256": "d1"})
    found = identity_of_launch(make_rig(), eagle3(), "single", told)

    assert found["sglang.version"] == "0.5.23"
    assert (found["model.config"], found["speculation.draft_config"]) == ("m1", "d1")
    assert (found["gpus.count"], found["gpus.model"]) == ("0", "none")


def test_without_the_servers_version_there_is_no_identity() -> None:
    launch = make_launch()
    assert launch.server is not None
    mute = launch.model_copy(update={"server": launch.server.model_copy(update={"sglang_version": None})})

    with pytest.raises(BaselineError, match="did not tell its SGLang version"):
        identity_of_launch(make_rig(), mute, "single", None)


def test_every_gpu_must_tell_its_model() -> None:
    rig = make_rig(gpus={"count": 2})
    seen = (GpuSeen(index=0, name="H200", source="nvml"), GpuSeen(index=1, source="nvml"))

    with pytest.raises(BaselineError, match="1 of 2 GPUs told their model"):
        identity_of_launch(rig, make_launch(slate=make_slate(gpus=seen)), "single", None)


def test_a_version_that_is_none_is_cut_and_still_told_apart() -> None:
    odd = [identity(make_rig(), sglang_version="9" * 10_000 + end)["sglang.version"] for end in "ab"]

    assert odd[0] != odd[1]
    assert all(len(version) < 120 for version in odd)
    assert (
        identity(make_rig(), sglang_version="0.5.9.dev1+gabcdef012")["sglang.version"]
        == "0.5.9.dev1+gabcdef012"
    )


def test_a_secret_is_no_part_of_an_identity() -> None:
    one, other = (
        identity(changed(server={"environment": {"HF_TOKEN": t, "HTTPS_PROXY": f"http://u:{t}@p:1"}}))
        for t in ("first-token", "other-token")
    )
    assert one == other
    assert "token" not in one["environment.HF_TOKEN"]
