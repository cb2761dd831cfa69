"""Hooks before, after, around and in place of functions, methods and classes, applied when all plugins have run."""

from __future__ import annotations

import contextvars
import functools
import logging
import pkgutil
import sys
import types
from collections import defaultdict
from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

logger = logging.getLogger(__name__)


class HookSource(NamedTuple):
    """The plugin that registered a hook."""

    plugin_name: str
    dist_name: str | None


_current_plugin_source: contextvars.ContextVar[HookSource | None] = contextvars.ContextVar(
    "_current_plugin_source", default=None
)


class HookType(Enum):
    """What a hook is called with: (…), (result, …), (original, …), (…)."""

    BEFORE = "before"
    AFTER = "after"
    AROUND = "around"
    REPLACE = "replace"


Hook = tuple[HookType, Callable[..., Any], HookSource | None]


class HookRegistry:
    """All hooks by the dotted path of their target."""

    _hooks: dict[str, list[Hook]] = defaultdict(list)
    _patched: set[str] = set()

    @classmethod
    def register(
        cls,
        target: str,
        hook: Callable[..., Any],
        hook_type: HookType = HookType.AFTER,
        *,
        source: HookSource | None = None,
    ) -> None:
        """Remember a hook. TypeError: a class can only replace."""
        if isinstance(hook, type) and hook_type != HookType.REPLACE:
            raise TypeError(
                f"Class {hook.__name__} can only be used with HookType.REPLACE, got HookType.{hook_type.name}. "
                f"Use a function for BEFORE/AFTER/AROUND hooks."
            )
        source = source or _current_plugin_source.get()
        before = [(h, s) for kind, h, s in cls._hooks[target] if kind == HookType.REPLACE]
        if hook_type == HookType.REPLACE and before:
            logger.warning(
                "Multiple REPLACE hooks on '%s': previous (%s [%s]) will be overridden by (%s [%s]). "
                "The last registered REPLACE takes effect.",
                target, _name(before[-1][0]), _format_source(before[-1][1]), _name(hook), _format_source(source),
            )  # fmt: skip
        cls._hooks[target].append((hook_type, hook, source))
        logger.debug("Registered %s hook on %s [%s]", hook_type.value, target, _format_source(source))

    @classmethod
    def apply_hooks(cls) -> None:
        """Patch every target that is not patched yet; replaced classes first. What fails is logged and left out."""
        for target, hooks in sorted(cls._hooks.items(), key=_order):
            if target in cls._patched:
                continue
            try:
                cls._apply_target(target, hooks)
                cls._patched.add(target)
            except Exception:
                logger.exception("Failed to apply hooks to %s", target)

    @classmethod
    def _apply_target(cls, target: str, hooks: list[Hook]) -> None:
        path, _, name = target.rpartition(".")
        if not path:
            raise ValueError(f"Invalid target path (need at least module.attr): {target}")
        owner = pkgutil.resolve_name(path)
        original: Any = getattr(owner, name)
        raw = owner.__dict__.get(name) if isinstance(owner, type) else None
        if isinstance(raw, (classmethod, staticmethod)):
            original = raw.__func__
        if isinstance(original, type) and any(kind != HookType.REPLACE for kind, _, _ in hooks):
            raise TypeError(
                f"Target '{target}' is a class. Only HookType.REPLACE is allowed for class targets. "
                f"To hook a method, use '{target}.<method_name>' instead."
            )
        around = [source for kind, _, source in hooks if kind == HookType.AROUND]
        if len(around) > 1:
            logger.warning(
                "Multiple AROUND hooks on '%s' (%d hooks, from: %s). If any AROUND hook "
                "skips calling original_fn, inner hooks will be bypassed.",
                target, len(around), ", ".join(map(_format_source, around)),
            )  # fmt: skip
        wrapped: Any = original
        # What replaces comes first, so that the others wrap it.
        for kind, hook, _ in sorted(hooks, key=lambda h: h[0] != HookType.REPLACE):
            wrapped = hook if isinstance(hook, type) else _wrap_fn(wrapped, hook, kind)
        if isinstance(raw, (classmethod, staticmethod)):
            wrapped = type(raw)(wrapped)
        setattr(owner, name, wrapped)
        _propagate_patch(original, wrapped, owner)
        sources = sorted({_format_source(source) for _, _, source in hooks})
        logger.info("Applied %d hook(s) to %s (from: %s)", len(hooks), target, ", ".join(sources))

    @classmethod
    def reset(cls) -> None:
        """Forget everything, for tests."""
        cls._hooks.clear()
        cls._patched.clear()


def plugin_hook(target: str, type: HookType = HookType.AFTER) -> Callable[..., Any]:  # noqa: A002 - its name there
    """Register the decorated function or class, which stays as it is."""

    def decorator(hook: Callable[..., Any]) -> Callable[..., Any]:
        HookRegistry.register(target, hook, type)
        return hook

    return decorator


def _order(item: tuple[str, list[Hook]]) -> tuple[int, str]:
    replaces = any(isinstance(hook, type) and kind == HookType.REPLACE for kind, hook, _ in item[1])
    return (0 if replaces else 1, item[0])


def _name(hook: Any) -> str:
    return getattr(hook, "__qualname__", None) or repr(hook)


def _format_source(source: HookSource | None) -> str:
    if source is None:
        return "unknown"
    where = f", dist={source.dist_name}" if source.dist_name else ""
    return f"plugin={source.plugin_name}{where}"


def _propagate_patch(original: Any, wrapped: Any, owner: Any) -> None:
    """Reach the modules that had imported the original by name."""
    for module in list(sys.modules.values()):
        if module is owner or not isinstance(module, types.ModuleType):
            continue
        for name, value in list(vars(module).items()):
            if value is original:
                setattr(module, name, wrapped)


def _wrap_fn(original: Callable[..., Any], hook: Callable[..., Any], kind: HookType) -> Callable[..., Any]:
    @functools.wraps(original)
    def before(*args: Any, **kwargs: Any) -> Any:
        changed = hook(*args, **kwargs)
        if changed is not None:
            args, kwargs = changed
        return original(*args, **kwargs)

    @functools.wraps(original)
    def after(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        changed = hook(result, *args, **kwargs)
        return result if changed is None else changed

    @functools.wraps(original)
    def around(*args: Any, **kwargs: Any) -> Any:
        return hook(original, *args, **kwargs)

    @functools.wraps(original)
    def replace(*args: Any, **kwargs: Any) -> Any:
        return hook(*args, **kwargs)

    return {
        HookType.BEFORE: before,
        HookType.AFTER: after,
        HookType.AROUND: around,
        HookType.REPLACE: replace,
    }[kind]
