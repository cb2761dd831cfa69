"""The box's own sglang, as its processes import it: the one installed, or simbox/trees/clean where there is none.

A real SGLang that happens to be installed beside the box is never imported.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from simbox.environment import CLEAN, TREES
from simbox.step_feed import Announced

_MARK = "A stand-in for SGLang's tree on a simulated box"
_NO_PLUGINS = ("0.5.9",)  # the framework came with 0.5.11


def has_plugins(version: str) -> bool:
    return version not in _NO_PLUGINS


def load_plugins(version: str) -> None:
    """Load plugins as every process of SGLang does; versions that had no framework load none."""
    if has_plugins(version):
        _importable()
        importlib.import_module("sglang.srt.plugins").load_plugins()


def workers(device: Any, *, speculative: bool) -> tuple[Callable[[Any], Any], Callable[[Announced], Any]]:
    """Return the worker's forward_batch_generation and what makes its batches. `device`: `run(phase)`, as Device has it."""
    _importable()
    batches = importlib.import_module("sglang.srt.managers.schedule_batch")
    worker = importlib.import_module("sglang.srt.managers.tp_worker").TpModelWorker(device)
    if speculative:
        eagle = importlib.import_module("sglang.srt.speculative.eagle_worker_v2")
        worker = eagle.EAGLEWorkerV2(worker, device)

    def batch_of(step: Announced) -> Any:
        mode = batches.ForwardMode.EXTEND if step.kind == "prefill" else batches.ForwardMode.DECODE
        return batches.ScheduleBatch(reqs=list(range(step.batch)), forward_mode=mode, graph=step.graph)

    return worker.forward_batch_generation, batch_of


def _importable() -> None:
    if "sglang" in sys.modules:
        return
    try:
        found = importlib.util.find_spec("sglang")
        text = Path(found.origin).read_text(encoding="utf-8") if found and found.origin else ""
        ours = _MARK in text
    except (ImportError, ValueError, OSError):
        ours = False
    if not ours:
        sys.modules.pop("sglang", None)
        sys.modules.pop("sglang.srt", None)
        sys.path.insert(0, str(TREES / CLEAN))
        importlib.invalidate_caches()
