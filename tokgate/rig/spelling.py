"""How keys and values of a rig are spelled in messages: as in TOML, and safe for a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

# Where something stands in a rig: table keys and list indices, outermost first.
KeyPath = tuple[str | int, ...]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def spell(value: object, *, limit: int = 100) -> str:
    """Spell a value as TOML would, on one line of at most `limit` characters."""
    text = _spell(value)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def dotted(path: KeyPath, data: object) -> str:
    """Spell a path: `arms[1 "eagle3-2step"].num_steps`, with the name of the item where it has one."""
    words: list[str] = []
    node = data
    for part in path:
        node = child(node, part)
        if isinstance(part, int):
            name = node.get("name") if isinstance(node, Mapping) else None
            words.append(f"[{part} {spell(name)}]" if isinstance(name, str) else f"[{part}]")
        else:
            words.append(("." if words else "") + (part if _BARE.fullmatch(part) else spell(part)))
    return "".join(words)


def child(node: object, part: str | int) -> object:
    """Return what lies under `part`, or None."""
    if isinstance(part, int):
        if not isinstance(node, list | tuple):
            return None
        return node[part] if 0 <= part < len(node) else None
    return node.get(part) if isinstance(node, Mapping) else None


def _spell(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int() if value.bit_length() > 64:
            return f"a whole number of {value.bit_length()} bits"
        case str():
            quoted = json.dumps(value, ensure_ascii=False)
            return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in quoted)
        case Mapping():
            inside = ", ".join(
                f"{k if _BARE.fullmatch(k) else _spell(k)} = {_spell(v)}" for k, v in value.items()
            )
            return "{" + inside + "}"
        case list() | tuple():
            return "[" + ", ".join(_spell(v) for v in value) + "]"
        case None:
            return "nothing"
        case _:
            return str(value)
