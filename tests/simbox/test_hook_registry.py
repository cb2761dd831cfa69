"""Hooks of the box's SGLang do what those of the real one do."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from simbox.environment import TREES


@pytest.fixture
def hooks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(TREES / "clean"))
    before = {name for name in sys.modules if name.partition(".")[0] == "sglang"}
    assert not before, "the tests' own environment has a sglang"
    yield importlib.import_module("sglang.srt.plugins.hook_registry")
    for name in [name for name in sys.modules if name.partition(".")[0] == "sglang"]:
        del sys.modules[name]


WORKER = "sglang.srt.speculative.eagle_worker_v2.EagleDraftWorker"


class Batch:
    reqs = (1, 2)


class Instant:
    def run(self, phase: str) -> None:
        assert phase == "draft"


def draft() -> Any:
    workers = importlib.import_module("sglang.srt.speculative.eagle_worker_v2")
    return workers.EagleDraftWorker(Instant()).draft(Batch())


def test_what_replaces_is_wrapped_by_the_others(hooks: Any) -> None:
    order: list[str] = []

    def around(original: Any, *args: Any) -> Any:
        order.append("around")
        return original(*args)

    kinds, register = hooks.HookType, hooks.HookRegistry.register
    register(f"{WORKER}.draft", around, kinds.AROUND)
    register(f"{WORKER}.draft", lambda *_: order.append("before"), kinds.BEFORE)
    register(f"{WORKER}.draft", lambda result, *_: result * 10, kinds.AFTER)
    register(f"{WORKER}.draft", lambda *_: 7, kinds.REPLACE)
    hooks.HookRegistry.apply_hooks()
    hooks.HookRegistry.apply_hooks()
    assert draft() == 70
    assert order == ["before", "around"]


def test_what_cannot_be_hooked_is_logged_and_the_rest_is_hooked(
    hooks: Any, caplog: pytest.LogCaptureFixture
) -> None:
    register = hooks.HookRegistry.register
    register("sglang.srt.speculative.no_such_module.Worker.draft", print)
    register(WORKER, lambda *_: None)
    register(f"{WORKER}.draft", lambda result, *_: result + 1)
    hooks.HookRegistry.apply_hooks()
    assert draft() == 3
    assert sum("Failed to apply hooks to" in record.message for record in caplog.records) == 2


def test_a_replaced_class_is_what_later_hooks_find(hooks: Any) -> None:
    class Better:
        def __init__(self, device: object) -> None: ...

        def draft(self, batch: object) -> int:
            return 40

    hooks.HookRegistry.register(f"{WORKER}.draft", lambda result, *_: result + 2)
    hooks.HookRegistry.register(WORKER, Better, hooks.HookType.REPLACE)
    hooks.HookRegistry.apply_hooks()
    assert draft() == 42
    with pytest.raises(TypeError, match=r"can only be used with HookType\.REPLACE"):
        hooks.HookRegistry.register(WORKER, Better, hooks.HookType.AROUND)
