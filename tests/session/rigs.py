"""A small rig for tests that need one and no machine."""

from __future__ import annotations

from tokgate.rig.models import Rig


def small_rig() -> Rig:
    eagle3 = {
        "kind": "eagle3",
        "draft_model_path": "/models/draft",
        "num_steps": 2,
        "topk": 1,
        "num_draft_tokens": 3,
    }
    return Rig.model_validate(
        {
            "name": "small",
            "gpus": {"count": 0},
            "server": {"python": "/opt/ml/bin/python", "model_path": "/models/target"},
            "arms": [
                {"name": "baseline", "kind": "baseline"},
                {"name": "eagle3-2step", **eagle3},
                {"name": "eagle3-pinned", **eagle3, "acceptance": 2.5},
            ],
            "prompt_sets": {"ids": {"kind": "token-ids", "length": 8, "first_id": 3, "last_id": 99}},
            "workloads": [
                {"name": "single", "prompts": "ids", "output_tokens": 16, "repeats": 5, "timeout_s": 5},
                {
                    "name": "conc4",
                    "prompts": "ids",
                    "output_tokens": 8,
                    "repeats": 2,
                    "concurrency": 4,
                    "timeout_s": 5,
                },
            ],
            "lossless": {"mode": "exact", "prompts": "ids", "count": 2, "output_tokens": 8},
        }
    )
