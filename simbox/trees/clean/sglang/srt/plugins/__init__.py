"""SGLang's plugin framework: plugins are found by entry point and hook whatever they like, in every process."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from sglang.srt.plugins.hook_registry import HookRegistry, HookSource, _current_plugin_source

logger = logging.getLogger(__name__)

PLATFORM_PLUGINS_GROUP = "sglang.srt.platforms"
GENERAL_PLUGINS_GROUP = "sglang.srt.plugins"

_plugins_loaded = False


def load_plugins_by_group(
    group: str, excluded_dists: set[str] | None = None
) -> dict[str, tuple[Callable[[], Any], str | None]]:
    """Import what the group's entry points name; SGLANG_PLUGINS, a list with commas, restricts them."""
    allowed = {name.strip() for name in os.environ.get("SGLANG_PLUGINS", "").split(",") if name.strip()}
    discovered = entry_points(group=group)
    if len(discovered) == 0:
        logger.debug("No plugins found for group %s.", group)
        return {}
    logger.info("Available plugins for group %s:", group)
    for entry in discovered:
        logger.info("  - %s -> %s", entry.name, entry.value)
    plugins: dict[str, tuple[Callable[[], Any], str | None]] = {}
    for entry in discovered:
        dist_name = entry.dist.name if entry.dist else None
        if allowed and entry.name not in allowed:
            logger.info("Skipping plugin %s (not in SGLANG_PLUGINS)", entry.name)
        elif excluded_dists and dist_name in excluded_dists:
            logger.info("Skipping plugin %s (dist %s excluded by SGLANG_PLATFORM)", entry.name, dist_name)
        else:
            try:
                plugins[entry.name] = (entry.load(), dist_name)
                logger.info("Loaded plugin %s from group %s", entry.name, group)
            except Exception:
                logger.exception("Failed to load plugin %s from group %s", entry.name, group)
    return plugins


def _get_excluded_dists() -> set[str]:
    """Name the distributions of platforms that SGLANG_PLATFORM has not selected."""
    selected = os.environ.get("SGLANG_PLATFORM")
    if not selected:
        return set()
    return {e.dist.name for e in entry_points(group=PLATFORM_PLUGINS_GROUP) if e.dist and e.name != selected}


def load_plugins() -> None:
    """Run every general plugin and apply what they hooked; once a process. One that raises is logged and left out."""
    global _plugins_loaded  # noqa: PLW0603 - as there
    if _plugins_loaded:
        return
    _plugins_loaded = True
    plugins = load_plugins_by_group(GENERAL_PLUGINS_GROUP, excluded_dists=_get_excluded_dists())
    for name, (func, dist_name) in plugins.items():
        token = _current_plugin_source.set(HookSource(plugin_name=name, dist_name=dist_name))
        try:
            func()
            logger.info("Executed general plugin: %s", name)
        except Exception:
            logger.exception("Failed to execute general plugin: %s", name)
        finally:
            _current_plugin_source.reset(token)
    HookRegistry.apply_hooks()
