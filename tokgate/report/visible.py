"""Foreign text made safe to show: nothing in it may move a cursor, hide, reorder or break a file.

Escaping for HTML or markdown comes on top of this and is done where that format is written.
"""

from __future__ import annotations

import re
import textwrap
import unicodedata

from tokgate.records.secret_shapes import without_known_shapes

# CSI, OSC, the other string sequences, and the two-character ones (ECMA-48, 5.3 to 5.6); 8-bit CSI too.
_ANSI = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x9b[0-?]*[ -/]*[@-~]"
    r"|\x1b\][^\x07\x1b\n]*(?:\x07|\x1b\\)?"
    r"|\x1b[PX^_][^\x1b\n]*(?:\x1b\\)?"
    r"|\x1b[ -/]*[0-~]"
)
# Characters of a word that anybody copies as one: a path, with room to spare. What is longer came from elsewhere.
LONGEST_PATH = 300
# Cc and Cf move, hide or reorder (bidi overrides are Cf); Cs cannot be encoded; Zl and Zp break lines.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def without_ansi(text: str) -> str:
    return _ANSI.sub("", text)


def visible(text: str, *, keep: str = "\n\t") -> str:
    """Replace every character that cannot be seen by its code point, and what looks like a secret; `keep` stays."""
    text = without_known_shapes(text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c in keep else _seen(c) for c in text)


def one_line(text: str, limit: int = 400) -> str:
    """Return `text` without ANSI sequences, on one line, at most `limit` characters."""
    flat = " ".join(without_ansi(text).split("\n")).replace("\t", " ")
    return shorten(visible(flat, keep="").strip(), limit)


def shorten(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def columns(text: str) -> int:
    """Return how many terminal columns `text` takes: wide East Asian characters take two."""
    return sum(_width(c) for c in text)


def fit(text: str, width: int) -> str:
    """Cut `text` to `width` terminal columns."""
    if columns(text) <= width:
        return text
    taken, used = [], 1  # one column for the ellipsis
    for c in text:
        used += _width(c)
        if used > width:
            break
        taken.append(c)
    return "".join(taken) + "…"


def fit_middle(text: str, width: int) -> str:
    """Cut `text` in its middle: names of one kind begin alike, and numbers in front and endings tell them apart."""
    if columns(text) <= width:
        return text
    back, used = "", 0
    for c in reversed(text):
        if used + _width(c) > (width - 1) // 2:
            break
        back, used = c + back, used + _width(c)
    return fit(text, width - used) + back


def wrapped(
    text: str,
    width: int,
    *,
    first: str | None = None,
    indent: str = "",
    most: int | None = None,
    whole: bool = False,
) -> list[str]:
    """Wrap to lines of `width` columns, `indent` included; of more than `most` lines the last one is cut.

    `first` stands before the first line in place of the indent, and is as wide. `whole`: a word that has no room behind the
    indent, a path say, stands on a line of its own with less of it, or out of the line, and is never broken: it is there to
    be copied.
    """
    clean = one_line(text, 2000)
    room = width - len(indent)
    # textwrap counts characters, not columns: text with wide ones gets half the room.
    wide = columns(clean) > len(clean)
    whole = whole and all(len(word) <= LONGEST_PATH for word in clean.split())
    lines = textwrap.wrap(
        clean, room // 2 if wide else room, break_on_hyphens=False, break_long_words=not whole
    )
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], fit(lines[most - 1] + " …" * 2, room)]
    heads = [indent if first is None else first, *[indent] * len(lines)]
    # Only a word by itself is wider than the room, and only where it is kept whole.
    return [
        head + line if columns(line) <= room else (" " * max(width - columns(line), 0) if n else head) + line
        for n, (head, line) in enumerate(zip(heads, lines, strict=False))
    ]


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _seen(character: str) -> str:
    code = ord(character)
    # Backslash notation, as in source code: pictures such as U+241B are missing from many fonts.
    if unicodedata.category(character) in _HIDDEN or code & 0xFFFE == 0xFFFE:
        if code > 0xFFFF:
            return f"\\U{code:08x}"
        return f"\\x{code:02x}" if code <= 0xFF else f"\\u{code:04x}"
    return character
