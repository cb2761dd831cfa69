"""What workers return."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class GenerationBatchResult:
    """One forward pass or one cycle."""

    can_run_cuda_graph: bool = False
