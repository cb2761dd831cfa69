"""What is hooked for each phase, by worker generation.

Read in SGLang 0.5.11, .12, .13, .14, .15, .16, .20 and .23. V1 workers ended with 0.5.12; V2 workers were an option until
then and are the only ones since. A version has those of the names below that it has, and the probe's file says which.
Before 0.5.11 there is no plugin framework, so no probe.
"""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    phase: str  # draft, verify, draft_extend, step (a whole cycle), decode
    module: str
    name: str  # CLASS.METHOD

    @property
    def path(self) -> str:
        return f"{self.module}.{self.name}"


def _worker(module: str, names: dict[str, str]) -> tuple[Target, ...]:
    return tuple(Target(phase, f"sglang.srt.speculative.{module}", name) for phase, name in names.items())


SPECULATIVE = (
    # V2: made for overlap scheduling, used without it as well.
    *_worker(
        "eagle_worker_v2",
        {
            "draft": "EagleDraftWorker.draft",
            "verify": "EAGLEWorkerV2.verify",
            "draft_extend": "EagleDraftWorker._draft_extend_for_decode",
            "step": "EAGLEWorkerV2.forward_batch_generation",
        },
    ),
    # V2 with one draft model per step.
    *_worker(
        "multi_layer_eagle_worker_v2",
        {
            "draft": "MultiLayerEagleDraftWorker.draft",
            "verify": "MultiLayerEagleWorkerV2.verify",
            "draft_extend": "MultiLayerEagleDraftWorker._draft_extend_for_decode",
            "step": "MultiLayerEagleWorkerV2.forward_batch_generation",
        },
    ),
    # V1.
    *_worker(
        "eagle_worker",
        {
            "draft": "EAGLEWorker.draft",
            "verify": "EAGLEWorker.verify",
            "draft_extend": "EAGLEWorker.forward_draft_extend_after_decode",
            "step": "EAGLEWorker.forward_batch_generation",
        },
    ),
    *_worker(
        "multi_layer_eagle_worker",
        {
            "draft": "MultiLayerEagleWorker.draft",
            "verify": "MultiLayerEagleWorker.verify",
            "draft_extend": "MultiLayerEagleWorker.forward_draft_extend_after_decode",
            "step": "MultiLayerEagleWorker.forward_batch_generation",
        },
    ),
)
PLAIN = (Target("decode", "sglang.srt.managers.tp_worker", "TpModelWorker.forward_batch_generation"),)
