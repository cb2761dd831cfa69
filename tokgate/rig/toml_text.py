"""Values and comments as TOML: whatever a host calls its folders, it is read back as it was, and adds nothing.

There is no writer in the standard library, and one that keeps comments is a dependency for some thirty lines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

_BARE = re.compile(r"[A-Za-z0-9_-]+")
# TOML 1.0: a basic string escapes quote, backslash and control characters, U+007F among them.
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LONGEST_LINE = 110


def toml_string(text: str) -> str:
    """Quote a text as a basic string. What cannot be seen is escaped, too: a bidi mark in a path would reorder the line.

    ValueError: a lone surrogate, of which TOML has none.
    """
    return '"' + "".join(_escaped(c) for c in text) + '"'


def toml_key(name: str) -> str:
    return name if _BARE.fullmatch(name) else toml_string(name)


def toml_value(value: object, *, room: int = _LONGEST_LINE) -> str:
    """Write texts, numbers, lists and tables on one line; a list that is longer than `room` on several."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return toml_string(value)
        case int():
            return str(value)
        case float():
            if not math.isfinite(value):
                raise ValueError("no rig holds a number that is not finite")
            return repr(value)
        case Mapping():
            inside = ", ".join(f"{toml_key(str(k))} = {toml_value(v)}" for k, v in value.items())
            return f"{{ {inside} }}" if inside else "{}"
        case list() | tuple():
            items = [toml_value(v) for v in value]
            line = f"[{', '.join(items)}]"
            return line if len(line) <= room else "[\n" + "".join(f"    {i},\n" for i in items) + "]"
        case _:
            raise TypeError(f"{type(value).__name__} has no place in a rig")


def toml_comment(text: str) -> str:
    """Return `# text` on one line: nothing in it may end the comment or move a cursor."""
    flat = text.replace("\n", " ")
    return f"# {''.join(c if c.isprintable() else _code(c) for c in flat)}".rstrip()


def _escaped(character: str) -> str:
    if character in _SHORT:
        return _SHORT[character]
    return character if character.isprintable() else _code(character)


def _code(character: str) -> str:
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError("a text with half a character, which no TOML file can hold")
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
