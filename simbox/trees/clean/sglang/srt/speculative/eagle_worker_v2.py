"""EAGLE workers of the second generation: the calls of one cycle, in SGLang's names and order."""

from __future__ import annotations

from typing import Any

from sglang.srt.managers.schedule_batch import ScheduleBatch
from sglang.srt.managers.tp_worker import TpModelWorker
from sglang.srt.managers.utils import GenerationBatchResult
from sglang.srt.model_executor.forward_batch_info import ForwardMode


class EagleDraftWorker:
    """Runs the drafter. `device`: `run(phase)` returns when the kernels of that phase are done."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def draft(self, batch: ScheduleBatch) -> int:
        """Draft for every request; returns how many requests were drafted for."""
        self._device.run("draft")
        return len(batch.reqs)

    def _draft_extend_for_decode(self, batch: ScheduleBatch, batch_result: GenerationBatchResult) -> None:
        """Catch up with what verify accepted."""
        del batch, batch_result
        self._device.run("draft_extend")


class EAGLEWorkerV2:
    """Draft, verify, draft_extend."""

    def __init__(self, target_worker: TpModelWorker, device: Any) -> None:
        self.target_worker = target_worker
        self.draft_worker = EagleDraftWorker(device)

    def forward_batch_generation(self, batch: ScheduleBatch, on_publish: Any = None) -> GenerationBatchResult:
        """Run one prefill or one cycle."""
        del on_publish
        if batch.forward_mode.is_extend() or batch.is_extend_in_batch:
            return self.target_worker.forward_batch_generation(batch)
        batch.spec_info = self.draft_worker.draft(batch)
        batch_output = self.verify(batch)
        self.draft_worker._draft_extend_for_decode(batch, batch_output)  # noqa: SLF001 - as there
        return batch_output

    def verify(self, batch: ScheduleBatch) -> GenerationBatchResult:
        """Run the target over the draft tokens and sample."""
        batch.forward_mode = ForwardMode.TARGET_VERIFY
        return self.target_worker.forward_batch_generation(None, batch, is_verify=True)
