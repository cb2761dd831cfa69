"""As much of SGLang's plugin framework as the probe touches."""

from importlib.metadata import entry_points

from .hook_registry import HookRegistry


def load_plugins() -> None:
    for entry in entry_points(group="sglang.srt.plugins"):
        entry.load()()
    HookRegistry.apply_hooks()
