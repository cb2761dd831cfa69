"""The target model's worker."""

from __future__ import annotations

from typing import Any

from sglang.srt.managers.schedule_batch import ScheduleBatch
from sglang.srt.managers.utils import GenerationBatchResult

_PHASES = {"EXTEND": "prefill", "DECODE": "decode", "TARGET_VERIFY": "verify"}


class TpModelWorker:
    """Runs the target. `device`: `run(phase)` returns when the kernels of that phase are done."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def forward_batch_generation(
        self,
        batch: ScheduleBatch | None,
        forward_batch: ScheduleBatch | None = None,
        *,
        is_verify: bool = False,
    ) -> GenerationBatchResult:
        """Run one forward pass; in a verify the batch comes as `forward_batch`."""
        del is_verify
        work: Any = batch if batch is not None else forward_batch
        self._device.run(_PHASES[work.forward_mode.name])
        return GenerationBatchResult(can_run_cuda_graph=work.graph)
