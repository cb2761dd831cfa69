"""Options of a run that no evidence names, what a simulated machine was told to play say, for commands that measure again.

They lie in a file of their own in the run folder. Whoever measures and whoever judges reads everything there but it.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

FILE = "unrecorded.txt"
_MOST = 2000  # characters; a command line of options
# A run folder may come from anywhere: what is put into a command to paste is options and their values, quoted anew.
_OPTION = re.compile(r"--[a-z][a-z-]*(?:=.*)?$", re.DOTALL)
# All of the promises or a file of them, and the marks that choose among them.
_MEASURING = re.compile(
    r"pytest (?:--pyargs )?(?:tokgate\.)?perf_tests\b(?:[/.][\w/.-]*\w)?(?: -m (?:'[^']*'|\"[^\"]*\"|\w+\b))?"
)


def keep(folder: Path, given: str) -> None:
    """Write the options beside a run's reports; nothing where there are none. Raises OSError."""
    if given:
        (folder / FILE).write_text(f"{given}\n", encoding="utf-8")


def kept(folder: Path) -> str:
    """Return the options that a run was given and no evidence names, quoted for a shell; "" where none are known."""
    try:
        words = shlex.split((folder / FILE).read_text(encoding="utf-8")[:_MOST])
    except (OSError, ValueError):
        return ""
    pairs: list[str] = []
    remaining = iter(words)
    for word in remaining:
        if not _OPTION.match(word) or not word.isprintable():
            return ""
        pairs.append(word)
        if "=" not in word:
            value = next(remaining, None)
            if value is None or not value.isprintable():
                return ""
            pairs.append(value)
    return shlex.join(pairs)


def with_given(step: str, given: str) -> str:
    """Put the options into every command of a step that measures again."""
    return _MEASURING.sub(lambda m: f"{m[0]} {given}", step) if given and given not in step else step
