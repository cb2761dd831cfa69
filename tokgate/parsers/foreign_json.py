"""JSON and text that somebody else wrote: read without trust, shown without harm."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable

from tokgate.records import Unread

SHOWN = 500  # characters of a foreign text that a record keeps
DEPTH = 50  # levels of a foreign object that we keep: every later walk and writer must get through it
WHOLE = 2**53  # counts beyond this are no counts, and JSON writers elsewhere would round them

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


def load_json(text: str) -> tuple[object, str | None]:
    """Return the value and None, or None and why it cannot be read."""
    try:
        return json.loads(text), None
    except ValueError as error:  # malformed, or a number of thousands of digits
        return None, f"{error}; incomplete, it is cut off" if _is_cut(text) else str(error)
    except RecursionError:
        return None, "nested too deeply"


def _is_cut(text: str) -> bool:
    """Whether `text` ends inside an object, a list or a string."""
    rest = _STRING.sub("", text)
    opened = rest.count("{") + rest.count("[") > rest.count("}") + rest.count("]")
    return text.lstrip().startswith(("{", "[")) and (opened or '"' in rest)


def why_not_kept(value: object) -> str | None:
    """Return why a JSON value cannot be part of a record: records are walked, and written as UTF-8; else None."""
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > DEPTH:
            return f"nested more than {DEPTH} deep"
        level = [inner for outer in level for inner in _inside(outer)]
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return "half a character (a lone surrogate) in it"
    return None


def _inside(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def shown(value: object, limit: int = SHOWN) -> str:
    """Return printable text of a foreign value: records, JSON files and HTML can all carry it."""
    try:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = type(value).__name__
    if len(text) > limit:
        text = text[: limit - 1] + "…"
    return writable(text)


def writable(text: str) -> str:
    """Return `text` with "?" for lone surrogates: legal in JSON, left by surrogateescape, and in no encoding."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def unread(text: object, why: str, *, line: int | None = None) -> Unread:
    return Unread(line=line, text=shown(text), why=shown(why))


def count(value: object) -> int | None:
    """Return a whole number from 0 up; None for everything else, True and "3" included."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value < WHOLE else None


def number(value: object) -> float | None:
    """Return a finite number; None for everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        plain = float(value)
    except OverflowError:
        return None
    return plain if math.isfinite(plain) else None


def ids(value: object) -> tuple[int, ...] | None:
    """Return a list of token ids; None when it is not one through and through."""
    if not isinstance(value, list):
        return None
    read = tuple(token for token in value if count(token) is not None)
    return read if len(read) == len(value) else None
