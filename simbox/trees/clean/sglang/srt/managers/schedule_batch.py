"""What workers are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sglang.srt.model_executor.forward_batch_info import ForwardMode


@dataclass
class ScheduleBatch:
    """The requests of one step. `graph`: the target will replay a CUDA graph."""

    reqs: Sequence[Any]
    forward_mode: ForwardMode
    graph: bool = False
    is_extend_in_batch: bool = False
    spec_info: Any = None
