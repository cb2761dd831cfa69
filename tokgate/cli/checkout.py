"""Which checkout a command works on."""

from __future__ import annotations

from pathlib import Path

import click

import tokgate
from tokgate.errors import UsageError

# Commands take the checkout's root as their first argument.
pass_root = click.make_pass_decorator(Path)


def find_checkout(start: Path) -> Path:
    """Return the nearest folder at or above `start` that has rigs/, else the one tokgate was installed from.

    Raises UsageError when there is neither.
    """
    installed_from = Path(tokgate.__file__).resolve().parents[1]
    for folder in (start, *start.parents, installed_from):
        if (folder / "rigs").is_dir():
            return folder
    raise UsageError(
        tried=f"find a checkout of tokgate from {start}",
        found="no folder rigs/ here or above",
        do="go into the checkout, or name it: tokgate --root PATH …",
    )
