"""Put the hooks in: SGLang's own hook registry around every target that this version has."""

from __future__ import annotations

import atexit
import os
import pkgutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tokgate_probe.clocks import CudaClock, HostClock
from tokgate_probe.recorder import LIMIT_BYTES, Finished, Recorder
from tokgate_probe.switch import Switch
from tokgate_probe.targets import TARGETS, Target

# A decode is the whole of a plain step; inside a speculative one the target worker runs on behalf of verify.
_OUTERMOST = {"decode": "step"}


def install(folder: str) -> None:
    """Hook the targets that are there, and write down which are not."""
    import torch  # noqa: PLC0415 - SGLang has it loaded by now
    from sglang.srt.plugins.hook_registry import HookRegistry, HookType  # noqa: PLC0415

    hooked = [t for t in TARGETS if _exists(t.path)]
    missing = [t.path for t in TARGETS if t not in hooked]
    clock = CudaClock(torch) if torch.cuda.is_available() else HostClock()
    switch = Switch(os.environ.get("TOKGATE_PROBE_SWITCH"))
    header = {
        "probe": 1,
        "pid": os.getpid(),
        "mark": os.environ.get("TOKGATE_MARK"),
        "clock": clock.name,
        "hooked": [f"{t.phase} {t.path}" for t in hooked],
        "missing": missing,
        "switch": switch.there,
        "monotonic_ns": time.monotonic_ns(),
    }
    recorder = Recorder(
        Path(folder, f"phases-{os.getpid()}.jsonl"),
        header,
        limit_bytes=int(os.environ.get("TOKGATE_PROBE_LIMIT_BYTES") or LIMIT_BYTES),
    )
    probe = Probe(clock, switch, recorder)
    for target in hooked:
        HookRegistry.register(target.path, probe.around(target), HookType.AROUND)
    recorder.start()
    atexit.register(recorder.end)


def _exists(path: str) -> bool:
    try:
        pkgutil.resolve_name(path)
    except (ImportError, AttributeError):
        return False
    return True


class Probe:
    """Makes the hooks. `running` holds the phases under way: of nested calls only the outermost counts."""

    def __init__(self, clock: CudaClock | HostClock, switch: Switch, recorder: Recorder) -> None:
        self._clock = clock
        self._switch = switch
        self._recorder = recorder
        self._running: set[str] = set()

    def around(self, target: Target) -> Callable[..., Any]:
        phase = target.phase
        running = self._running

        def hook(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            if phase in running or _OUTERMOST.get(phase) in running:
                return original(*args, **kwargs)
            try:
                span = self._begin(phase, args)
            except Exception:  # noqa: BLE001 - a probe never breaks its host
                span = None
            if span is None:
                return original(*args, **kwargs)
            began_ns = time.monotonic_ns()
            running.add(phase)
            try:
                result = original(*args, **kwargs)
            finally:
                running.discard(phase)
            try:
                span.stop()
                self._recorder.add(
                    Finished(phase, span, _requests(args), _graph(result), began_ns)
                )
            except Exception:  # noqa: BLE001, S110 - likewise
                pass
            return result

        return hook

    def _begin(self, phase: str, args: tuple[Any, ...]) -> Any | None:
        if not self._switch.on() or not self._clock.usable():
            return None
        if phase in {"step", "decode"} and not _decodes(args):
            return None
        return self._clock.start()


def _decodes(args: tuple[Any, ...]) -> bool:
    """Prefill goes through the same method; only what advances running requests is a step or a decode."""
    for value in args:
        mode = getattr(value, "forward_mode", None)
        if mode is not None:
            return bool(mode.is_decode()) and not getattr(value, "is_extend_in_batch", False)
    return False


def _requests(args: tuple[Any, ...]) -> int | None:
    for value in args:
        requests = getattr(value, "reqs", None)
        if requests is not None:
            return len(requests)
    return None


def _graph(result: Any) -> bool | None:
    """V2 says it in a field, V1 as the last of a tuple; a draft says nothing."""
    told = getattr(result, "can_run_cuda_graph", None)
    if isinstance(result, tuple) and result:
        told = result[-1]
    return told if isinstance(told, bool) else None
