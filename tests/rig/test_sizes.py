"""How many GPUs an arm takes, under every name its arguments go by."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.rigs import small_rig
from tokgate.rig.models import Rig
from tokgate.rig.sizes import gpus_needed


def rig_with(args: dict[str, Any], arm: dict[str, Any] | None = None) -> Rig:
    rig = small_rig()
    arms = tuple(a.model_copy(update={"args": arm or {}}) for a in rig.arms)
    return rig.model_copy(update={"server": rig.server.model_copy(update={"args": args}), "arms": arms})


@pytest.mark.parametrize(
    ("args", "needed"),
    [
        ({}, 1),
        ({"tp_size": 8}, 8),
        ({"tp": "8"}, 8),
        ({"tensor_parallel_size": 2, "pp": 2}, 4),
        ({"tp_size": 2, "dp_size": 4}, 8),
        # Data parallelism of attention stays inside tensor parallelism.
        ({"tp_size": 8, "dp_size": 8, "enable_dp_attention": True}, 8),
        ({"tp_size": 16, "nnodes": 2}, 8),
        ({"tp_size": "many"}, None),
        ({"tp_size": True}, None),
        ({"tp_size": 0}, None),
        ({"tp_size": "9" * 400}, None),
        ({"tp_size": "\N{SUPERSCRIPT TWO}"}, None),
    ],
)
def test_gpus_needed(args: dict[str, Any], needed: int | None) -> None:
    rig = rig_with(args)
    assert gpus_needed(rig, rig.control) == needed


def test_the_arms_own_argument_counts() -> None:
    rig = rig_with({"tp_size": 8}, {"tp_size": 2})
    assert gpus_needed(rig, rig.control) == 2
