from typing import Any

from sglang.srt.managers.tp_worker import TpModelWorker


class EagleDraftWorker:
    def draft(self, batch: Any) -> Any:
        return batch

    def _draft_extend_for_decode(self, batch: Any) -> Any:
        return batch


class EAGLEWorkerV2:
    def __init__(self) -> None:
        self.draft_worker = EagleDraftWorker()
        self.target_worker = TpModelWorker()

    def verify(self, batch: Any) -> Any:
        return self.target_worker.forward_batch_generation(batch)

    def forward_batch_generation(self, batch: Any) -> Any:
        if not batch.forward_mode.is_decode():
            return self.target_worker.forward_batch_generation(batch)
        self.draft_worker.draft(batch)
        told = self.verify(batch)
        self.draft_worker._draft_extend_for_decode(batch)
        return told
