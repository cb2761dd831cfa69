"""The settings that must be equal before two measurements may be compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from tokgate.errors import BaselineError
from tokgate.records import Difference, Fingerprint, LaunchEvidence
from tokgate.records.redactor import hidden
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.values import ArgValue
from tokgate.rig.workload import TextPrompts, WorkloadSpec

# Dotted key to text. Neither the rig's name nor the arm's: names are not settings.
Identity = dict[str, str]

# The gate chooses these anew for every launch.
_NOT_SETTINGS = {"host", "port", "api_key", "admin_api_key"}

# Facts of the fingerprint that decide what is measured, where the host could tell them.
MODEL_FACT = "model.config_sha256"
DRAFT_FACT = "draft.{arm}.config_sha256"

# Characters; the longest version seen, of a build from a branch, has 45.
LONGEST_VERSION = 100


def identity_of(
    rig: Rig,
    arm: ArmSpec,
    workload: WorkloadSpec,
    *,
    sglang_version: str,
    gpu_names: Sequence[str],
    model_config: str | None = None,
    draft_config: str | None = None,
) -> Identity:
    """Return the identity of what one workload measures on one arm.

    `model_config` and `draft_config` are hashes of the models' config files; None where the
    host could not tell, and then the path alone stands for the model. How often a workload
    repeats or warms up is not part of it: more values of the same thing are the same thing.
    """
    settings: dict[str, str | None] = {
        "simulated": _text(rig.simulated),
        "sglang.version": bounded_version(sglang_version),
        "sglang.module": rig.server.module,
        # By content: where a patch lies, and what its file is called, is no setting.
        "sglang.required_patches": " ".join(patch.sha256 for patch in rig.server.required) or None,
        "server.nodes": _text(rig.server.nodes) if rig.server.nodes > 1 else None,
        "gpus.count": _text(len(gpu_names)),
        "gpus.model": ", ".join(sorted(set(gpu_names))) or "none",
        "model.path": rig.server.model_path,
        "model.config": model_config,
        "speculation.kind": arm.kind,
    }
    if arm.kind == "eagle3":
        settings |= {
            "speculation.draft_path": arm.draft_model_path,
            "speculation.draft_config": draft_config,
            "speculation.num_steps": _text(arm.num_steps),
            "speculation.topk": _text(arm.topk),
            "speculation.num_draft_tokens": _text(arm.num_draft_tokens),
            "speculation.acceptance": _text(arm.acceptance),
        }
    for key, value in {**rig.server.args, **arm.args}.items():
        if key not in _NOT_SETTINGS and value is not False:
            settings[f"args.{key}"] = hidden(key, value) if isinstance(value, str) else _text(value)
    for key, text in {**rig.server.nccl, **rig.server.environment, **arm.environment}.items():
        # A token does not make a server faster, and a baseline file is read by everybody.
        settings[f"environment.{key}"] = hidden(key, text)
    settings |= _workload(rig, workload)
    return {key: _movable(value, rig.checkout) for key, value in settings.items() if value is not None}


def identity_of_launch(
    rig: Rig, launch: LaunchEvidence, workload: str, fingerprint: Fingerprint | None
) -> Identity:
    """Return the identity of a workload as measured; BaselineError where it cannot be known."""
    arm = next((a for a in rig.arms if a.name == launch.launch.arm), None)
    spec = next((w for w in rig.workloads if w.name == workload), None)
    tried = f"name what {workload} on {launch.launch.id} is comparable with"
    if arm is None or spec is None:
        raise BaselineError(
            tried=tried,
            found=f"the rig {rig.name} has no such arm or workload",
            do="judge a run with the rig it was measured with",
        )
    if launch.server is None or launch.server.sglang_version is None:
        raise BaselineError(
            tried=tried,
            found="the server did not tell its SGLang version",
            do="see server_info.json; without the version no two runs are comparable",
        )
    seen = launch.slate.gpus if launch.slate is not None else ()
    names = [gpu.name for gpu in seen if gpu.name is not None]
    if len(names) != rig.gpus.count:
        raise BaselineError(
            tried=tried,
            found=f"{len(names)} of {rig.gpus.count} GPUs told their model",
            do="see the clean slate of this launch: nvidia-smi must name every GPU",
        )
    facts = fingerprint.facts if fingerprint is not None else {}
    return identity_of(
        rig,
        arm,
        spec,
        sglang_version=launch.server.sglang_version,
        gpu_names=names,
        model_config=facts.get(MODEL_FACT),
        draft_config=facts.get(DRAFT_FACT.format(arm=arm.name)),
    )


def bounded_version(told: str) -> str:
    """Return what a server calls its version; of a longer text the beginning and a hash that tells it apart."""
    if len(told) <= LONGEST_VERSION:
        return told
    digest = hashlib.sha256(told.encode("utf-8", "backslashreplace")).hexdigest()[:12]
    return f"{told[: LONGEST_VERSION // 2]}… ({len(told)} characters, sha256 {digest})"


def identity_hash(identity: Mapping[str, str]) -> str:
    """Return the SHA-256 of the canonical JSON: sorted keys, no blanks, ASCII; 64 hex digits."""
    canonical = json.dumps(dict(identity), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def differences(before: Mapping[str, str | None], now: Mapping[str, str | None]) -> tuple[Difference, ...]:
    """Return the keys whose values differ, sorted; a key that one side lacks has None there."""
    return tuple(
        Difference(key=key, before=before.get(key), now=now.get(key))
        for key in sorted(set(before) | set(now))
        if before.get(key) != now.get(key)
    )


def _movable(value: str, checkout: str | None) -> str:
    """Where the checkout lies is no setting: another clone measures the same thing."""
    return value.replace(checkout, "{root}") if checkout else value


def _workload(rig: Rig, workload: WorkloadSpec) -> dict[str, str]:
    prompts = rig.prompt_sets.get(workload.prompts)
    settings = {
        "workload.endpoint": workload.endpoint,
        "workload.concurrency": _text(workload.concurrency),
        "workload.output_tokens": _text(workload.output_tokens),
        "workload.cache": workload.cache,
    }
    if isinstance(prompts, TextPrompts):
        settings["workload.prompts"] = f"text, sha256 {prompts.sha256 or f'unknown, {prompts.file}'}"
    elif prompts is not None:
        settings["workload.prompts"] = (
            f"{prompts.length} token ids {prompts.first_id} to {prompts.last_id}, seed {prompts.seed}"
        )
    return settings


def _text(value: ArgValue | None) -> str:
    """Spell a value as its flag would: 8 and "8" are the same setting."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return " ".join(str(v) for v in value)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
