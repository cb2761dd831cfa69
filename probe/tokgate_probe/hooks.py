"""The hooks around a cycle and its phases. None of them ever raises, or keeps an exception of SGLang's."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from tokgate_probe.clocks import Clock, Span
from tokgate_probe.recorder import Recorder
from tokgate_probe.switch import Switch

CYCLES = ("step", "decode")  # everything else is a phase inside one


class Hooks:
    """One scheduler's. Whether to record is decided once a cycle, so that its phases and it are there together.

    Prefill goes through the same method as a cycle, and with data-parallel attention idle ranks do: what runs inside
    those is not recorded either. A plain decode inside a speculative cycle is the target model at work for verify.
    """

    def __init__(self, clock: Clock, switch: Switch, recorder: Recorder) -> None:
        self._clock = clock
        self._switch = switch
        self._recorder = recorder
        self._inside = False
        self._recording = False
        self._requests: int | None = None
        self._running: set[str] = set()  # of nested calls of one phase the outermost counts

    def around(self, phase: str) -> Callable[..., Any]:
        """Return an AROUND hook of SGLang's registry."""
        return self._cycle(phase) if phase in CYCLES else self._phase(phase)

    def _cycle(self, phase: str) -> Callable[..., Any]:
        def hook(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return original(*args, **kwargs)
            span = self._begin(args, kwargs, cycle=True)
            self._inside, self._recording = True, span is not None
            try:
                result = original(*args, **kwargs)
            finally:
                self._inside = self._recording = False
            if span is not None:
                self._finish(phase, span, result)
            return result

        return hook

    def _phase(self, phase: str) -> Callable[..., Any]:
        running = self._running

        def hook(original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
            if phase in running or (self._inside and not self._recording):
                return original(*args, **kwargs)
            span = self._begin(args, kwargs, cycle=False)
            running.add(phase)
            try:
                result = original(*args, **kwargs)
            finally:
                running.discard(phase)
            if span is not None:
                self._finish(phase, span, result)
            return result

        return hook

    def _begin(self, args: tuple[Any, ...], kwargs: dict[str, Any], *, cycle: bool) -> Span | None:
        try:
            if not self._inside:  # a cycle, or a phase of a version whose cycle goes by another name
                batch = _batch(chain(args, kwargs.values()))
                if not (_decodes(batch) if cycle else _works(batch)) or not self._switch.on():
                    return None
                self._requests = _requests(batch)
            return self._clock.start()
        except Exception as error:  # noqa: BLE001 - a record lost, never a request
            self._recorder.lose(f"{type(error).__name__} in a hook")
            return None

    def _finish(self, phase: str, span: Span, result: Any) -> None:
        try:
            span.stop()
            self._recorder.add(phase, span, self._requests, _graph(result))
        except Exception as error:  # noqa: BLE001 - likewise
            self._recorder.lose(f"{type(error).__name__} in a hook")


def _batch(values: Iterable[Any]) -> Any | None:
    for value in values:
        if getattr(value, "forward_mode", None) is not None:
            return value
    return None


def _decodes(batch: Any) -> bool:
    if batch is None:
        return False
    return bool(batch.forward_mode.is_decode()) and not getattr(batch, "is_extend_in_batch", False)


def _works(batch: Any) -> bool:
    return batch is None or not batch.forward_mode.is_idle()


def _requests(batch: Any) -> int | None:
    """The scheduler's batch holds requests; the batch that it makes of it for 0.5.11's workers their lengths only."""
    for name in ("reqs", "seq_lens"):
        told = getattr(batch, name, None)
        if told is not None:
            return len(told)
    return None


def _graph(result: Any) -> bool | None:
    """V2 says it in a field, V1 as the last of a tuple; drafts say nothing."""
    told = getattr(result, "can_run_cuda_graph", None)
    if isinstance(result, tuple) and result:
        told = result[-1]
    return told if isinstance(told, bool) else None
