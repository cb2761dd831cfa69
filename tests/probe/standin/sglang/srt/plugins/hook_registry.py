import functools
import pkgutil
from collections.abc import Callable
from enum import Enum
from typing import Any, ClassVar


class HookType(Enum):
    AROUND = "around"


class HookRegistry:
    hooks: ClassVar[list[tuple[str, Callable[..., Any]]]] = []

    @classmethod
    def register(cls, target: str, hook: Callable[..., Any], kind: HookType) -> None:
        assert kind is HookType.AROUND
        cls.hooks.append((target, hook))

    @classmethod
    def apply_hooks(cls) -> None:
        for target, hook in cls.hooks:
            owner, _, name = target.rpartition(".")
            kind = pkgutil.resolve_name(owner)
            original = getattr(kind, name)
            setattr(kind, name, functools.partialmethod(_around, original, hook))


def _around(self: Any, original: Callable[..., Any], hook: Callable[..., Any], *args: Any) -> Any:
    return hook(original, self, *args)
