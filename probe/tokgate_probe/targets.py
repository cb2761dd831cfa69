"""What is hooked for each phase, by worker generation.

Read in SGLang 0.5.9, 0.5.11, 0.5.16 and 0.5.23. V1 workers ended with 0.5.11, V2 workers began as an option
before that; a version has those of the names below that it has, and the probe's file says which.
"""

from __future__ import annotations

from typing import NamedTuple

_SPECULATIVE = "sglang.srt.speculative"


class Target(NamedTuple):
    phase: str  # draft, verify, draft_extend, step (a whole cycle), decode
    path: str


TARGETS = (
    # V2: overlap scheduling; the only one from 0.5.13.
    Target("draft", f"{_SPECULATIVE}.eagle_worker_v2.EagleDraftWorker.draft"),
    Target("verify", f"{_SPECULATIVE}.eagle_worker_v2.EAGLEWorkerV2.verify"),
    Target("draft_extend", f"{_SPECULATIVE}.eagle_worker_v2.EagleDraftWorker._draft_extend_for_decode"),
    Target("step", f"{_SPECULATIVE}.eagle_worker_v2.EAGLEWorkerV2.forward_batch_generation"),
    # V2 with one draft model per step.
    Target("draft", f"{_SPECULATIVE}.multi_layer_eagle_worker_v2.MultiLayerEagleDraftWorker.draft"),
    Target("verify", f"{_SPECULATIVE}.multi_layer_eagle_worker_v2.MultiLayerEagleWorkerV2.verify"),
    Target(
        "draft_extend",
        f"{_SPECULATIVE}.multi_layer_eagle_worker_v2.MultiLayerEagleDraftWorker._draft_extend_for_decode",
    ),
    Target(
        "step", f"{_SPECULATIVE}.multi_layer_eagle_worker_v2.MultiLayerEagleWorkerV2.forward_batch_generation"
    ),
    # V1.
    Target("draft", f"{_SPECULATIVE}.eagle_worker.EAGLEWorker.draft"),
    Target("verify", f"{_SPECULATIVE}.eagle_worker.EAGLEWorker.verify"),
    Target("draft_extend", f"{_SPECULATIVE}.eagle_worker.EAGLEWorker.forward_draft_extend_after_decode"),
    Target("step", f"{_SPECULATIVE}.eagle_worker.EAGLEWorker.forward_batch_generation"),
    Target("draft", f"{_SPECULATIVE}.multi_layer_eagle_worker.MultiLayerEagleWorker.draft"),
    Target("verify", f"{_SPECULATIVE}.multi_layer_eagle_worker.MultiLayerEagleWorker.verify"),
    Target(
        "draft_extend",
        f"{_SPECULATIVE}.multi_layer_eagle_worker.MultiLayerEagleWorker.forward_draft_extend_after_decode",
    ),
    Target("step", f"{_SPECULATIVE}.multi_layer_eagle_worker.MultiLayerEagleWorker.forward_batch_generation"),
    # Without speculation.
    Target("decode", "sglang.srt.managers.tp_worker.TpModelWorker.forward_batch_generation"),
)
