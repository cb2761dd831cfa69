"""Lines for a terminal, folded where they are wider than it is: their continuation stands under their text."""

from __future__ import annotations

import re
import shutil
import textwrap

from tokgate.report.visible import columns

USUAL = 80  # where nothing says how wide it is: a pipe, a file, a log
_NARROWEST = 40
# What a continuation stands behind: "tried: ", "  pass         ", "  note: ", or the indent alone.
_HEAD = re.compile(r"^(?:(?:tried|found|do): +|\s*\S+ {2,}|\s*(?:note|do): |\s*)")
_DEEPEST = 24


def width() -> int:
    """Return how wide the terminal is: COLUMNS, else what it says itself, else USUAL."""
    return max(shutil.get_terminal_size((USUAL, 24)).columns, _NARROWEST)


def folded(text: str, room: int | None = None) -> str:
    """Fold every line of `text` that is wider than `room` columns, `width()` by default.

    A word that has no room by itself, a path or a hash, stays whole: what is broken cannot be copied.
    """
    most = width() if room is None else room
    return "\n".join(row for line in text.split("\n") for row in _rows(line, most))


def _rows(line: str, most: int) -> list[str]:
    if columns(line) <= most:
        return [line]
    found = _HEAD.match(line)
    head = found[0] if found is not None else ""
    if not head.strip() or columns(head) > _DEEPEST:
        indent = len(line) - len(line.lstrip(" "))
        head = line[:indent]
        hang = " " * (indent + 2)
    else:
        hang = " " * columns(head)
    # textwrap counts characters, not columns: text with wide ones gets half the room.
    wide = columns(line) > len(line)
    room = most - len(hang)
    rows = textwrap.wrap(
        line[len(head) :], room // 2 if wide else room, break_on_hyphens=False, break_long_words=False
    )
    return [f"{head if number == 0 else hang}{row}" for number, row in enumerate(rows)]
