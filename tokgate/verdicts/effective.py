"""What the server says of its own settings, against what the rig wanted."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from tokgate.records import LaunchEvidence
from tokgate.records.redactor import hidden
from tokgate.rig.models import ArmSpec, Rig

from .label import mislabelled
from .shortfall import Shortfall

# Settings that decide what is measured. SGLang may adapt others to the machine (memory shares,
# graph sizes, backends): those become warnings.
DECISIVE = ("model_path", "tp_size", "dp_size", "pp_size")
_ALIASES = {
    "model": "model_path",
    "tp": "tp_size",
    "tensor_parallel_size": "tp_size",
    "dp": "dp_size",
    "data_parallel_size": "dp_size",
    "pp": "pp_size",
    "pipeline_parallel_size": "pp_size",
}
_NOT_COMPARED = {"host", "port", "api_key", "admin_api_key"}  # the gate chooses those per launch


def wanted_settings(rig: Rig, arm: ArmSpec) -> dict[str, Any]:
    """Return the server arguments an arm asks for, under the names that /server_info uses."""
    settings: dict[str, Any] = {"model_path": rig.server.model_path}
    if arm.kind == "eagle3":
        settings |= {
            "speculative_algorithm": "EAGLE3",
            "speculative_draft_model_path": arm.draft_model_path,
            "speculative_num_steps": arm.num_steps,
            "speculative_eagle_topk": arm.topk,
            "speculative_num_draft_tokens": arm.num_draft_tokens,
        }
    for name, value in (*rig.server.args.items(), *arm.args.items()):
        key = name.lstrip("-").replace("-", "_")
        settings[_ALIASES.get(key, key)] = value
    return {
        k: hidden(k, v) if isinstance(v, str) else v  # as what the server told is kept
        for k, v in settings.items()
        if k not in _NOT_COMPARED and v is not None and v is not False
    }


def contradicted(rig: Rig, arm: ArmSpec, launch: LaunchEvidence) -> Iterable[Shortfall]:
    """Yield the decisive settings that the server tells otherwise; only those it tells at all.

    Before them, a label simulated or real that rig and server do not share.
    """
    yield from mislabelled(rig, launch)
    told = launch.server.server_info if launch.server is not None else {}
    for key, value in wanted_settings(rig, arm).items():
        decisive = key in DECISIVE or key.startswith("speculative_")
        if not decisive or key not in told or _same(value, told[key]) or _resolved(key, value):
            continue
        if key == "speculative_algorithm" and _off(told[key]):
            what = f"the server of {arm.name} says it does no speculation (speculative_algorithm={told[key]})"
        else:
            what = f"{key} is {told[key]!r} in the server, {value!r} in the rig"
        yield Shortfall(
            what=what, do="read the start of server.log: SGLang says there why it changed an argument"
        )
    if arm.kind == "baseline" and not _off(told.get("speculative_algorithm")):
        yield Shortfall(
            what=f"the control arm {arm.name} runs with speculation ({told['speculative_algorithm']})",
            do="take the speculative arguments out of server.args: they belong to an eagle3 arm",
        )


def adapted(rig: Rig, arm: ArmSpec, launch: LaunchEvidence) -> tuple[str, ...]:
    """Return one sentence per other setting that the server changed."""
    told = launch.server.server_info if launch.server is not None else {}
    return tuple(
        f"SGLang runs with {key}={told[key]!r}, the rig says {value!r}"
        for key, value in wanted_settings(rig, arm).items()
        if key in told
        and key not in DECISIVE
        and not key.startswith("speculative_")
        and not _same(value, told[key])
    )


def _resolved(key: str, wanted: object) -> bool:
    """Tell a name on a model hub, which SGLang may turn into the folder it was downloaded to."""
    return key.endswith("model_path") and not str(wanted).startswith("/")


def _off(algorithm: object) -> bool:
    return algorithm is None or str(algorithm).strip().lower() in {"", "none", "null"}


def _same(wanted: object, told: object) -> bool:
    if isinstance(wanted, tuple):
        wanted = list(wanted)
    if wanted == told or str(wanted) == str(told):
        return True
    if isinstance(wanted, str) and isinstance(told, dict | list):
        try:
            return bool(json.loads(wanted) == told)
        except ValueError:
            return False
    if isinstance(wanted, int | float | str) and isinstance(told, int | float | str):
        try:
            return float(wanted) == float(told)
        except ValueError:
            return False
    return False
