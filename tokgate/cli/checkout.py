"""Which repository a command works on."""

from __future__ import annotations

from pathlib import Path

import click

from tokgate.rig.repository import repository_of

# Commands take the repository's root as their first argument.
pass_root = click.make_pass_decorator(Path)


def find_checkout(start: Path) -> Path:
    """Return the repository around `start`: the nearest folder with rigs/ or [tool.tokgate] in its pyproject.toml.

    Where there is none it is the git repository, or `start`; the shipped rigs can be used in any.
    """
    return repository_of(start)
