"""Foreign text and tables in GitHub's markdown, and sections cut to the bytes that are left."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence

from .visible import one_line

_CELL = 160
# What could start markup; a colon and a dot only where they would make a link of a bare address, or an emoji.
_SPECIAL = re.compile(r"([\\`*_{}\[\]#!|~@$]|:(?=//|[a-z0-9_+-]+:)|(?<=www)\.)")
# GitHub looks for @NAME and #NUMBER in what markdown has made, where a backslash is gone: a comment would call people and
# tie itself to other issues. A zero-width space between the two is what dependency bots use. A mail address calls nobody.
_CALLING = re.compile(r"((?<!\w)\\@(?=\w)|\\#(?=\d))")
_APART = "&#8203;"


def text(foreign: str, limit: int = _CELL) -> str:
    """Escape foreign text for markdown and the HTML inside it; it stays on one line."""
    escaped = _SPECIAL.sub(r"\\\1", html.escape(one_line(foreign, limit), quote=False))
    return _CALLING.sub(rf"\1{_APART}", escaped)


def headed(title: str, columns: Sequence[str], numeric: Callable[[int], bool]) -> list[str]:
    """Return the lines of a table from its title to the rule below its head."""
    rule = "".join("--:|" if numeric(i) else "---|" for i in range(len(columns)))
    return ["", f"## {title}", "", f"| {' | '.join(columns)} |", f"|{rule}"]


def bullets(lines: Iterable[str]) -> list[str]:
    told = [f"- {text(line, 500)}" for line in lines]
    return ["", *told] if told else []


def table_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def code(foreign: str) -> str:
    """Return a code span; backticks in it would end it."""
    clean = one_line(foreign, 1000).replace("`", "'")
    return f"`{clean}`"


def append_what_fits(body: list[str], section: Sequence[str], room: int) -> int:
    """Append as many lines of `section` as fit, with a note of how many did not; return the bytes used."""
    note_room = 100
    used = 0
    for position, line in enumerate(section):
        size = len(line.encode(errors="replace")) + 1
        if used + size > room - note_room:
            left = len(section) - position
            note = f"\n… {left} more lines did not fit: see verdict.json\n"
            if used + len(note.encode()) <= room:
                body.append(note)
                used += len(note.encode()) + 1
            return used
        body.append(line)
        used += size
    return used


def size_of(lines: Sequence[str]) -> int:
    return sum(len(line.encode(errors="replace")) + 1 for line in lines)
