"""A session on another machine of the same kind, installed elsewhere, is compared with the baseline that was stored."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tokgate.rig.load import load_rig
from tokgate.verdicts.baselines.identity import identity_of

ROOT = Path(__file__).parents[2]
TOLD: dict[str, Any] = {"sglang_version": "0.5.16", "model_config": "c0ffee", "draft_config": "decade"}


@pytest.mark.parametrize(("name", "gpus"), [("h200", 1), ("h200-quick", 1), ("h200x2", 2), ("h200x8", 8)])
def test_where_it_is_installed_is_no_part_of_the_identity(tmp_path: Path, name: str, gpus: int) -> None:
    elsewhere = tmp_path / "tokgate-gpu-host" / "checkout"
    shutil.copytree(
        ROOT / "rigs", elsewhere / "rigs", ignore=shutil.ignore_patterns("sglang-*", "__pycache__")
    )
    here, there = (load_rig(name, root=root) for root in (ROOT, elsewhere))
    cards = ["NVIDIA H200"] * gpus
    for arm in here.arms:
        of = [
            identity_of(rig, rig.arm(arm.name), rig.workloads[0], gpu_names=cards, **TOLD)
            for rig in (here, there)
        ]
        assert of[0] == of[1]
        assert not [value for value in of[0].values() if str(tmp_path) in value or str(ROOT) in value]


def test_what_tells_one_machine_from_another_is_fingerprint_alone() -> None:
    """The driver, the card's UUID and the host's name are facts beside a verdict; the identity has no such key."""
    rig = load_rig("h200-quick", root=ROOT)
    keys = identity_of(rig, rig.control, rig.workloads[0], gpu_names=["NVIDIA H200"], **TOLD).keys()
    assert {key.partition(".")[0] for key in keys} == {
        *("simulated", "sglang", "gpus", "model", "speculation", "args", "environment", "workload"),
    }
    assert {key for key in keys if key.startswith("gpus.")} == {"gpus.count", "gpus.model"}
