"""A rig written with the reason beside each value: what `tokgate rig init` makes, read back by `load_rig`."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tokgate.rig.spelling import KeyPath
from tokgate.rig.toml_text import toml_comment, toml_key, toml_value

_WIDTH = 110
_RULE = "# " + "-" * 93
_COLUMN = 33  # where the comment begins, beside a short value


@dataclass
class Page:
    """`data` as tomllib would give it, in the order it is to stand in; comments by path.

    `above`: paragraphs before a key or a table; `beside`: the reason at a value's end of line; `after`: lines behind a
    table, already TOML or already comments: what is left out and how to put it in. `parts`: paths that begin a new part.
    """

    data: dict[str, Any]
    head: list[str] = field(default_factory=list)
    above: dict[KeyPath, list[str]] = field(default_factory=dict)
    beside: dict[KeyPath, str] = field(default_factory=dict)
    after: dict[KeyPath, list[str]] = field(default_factory=dict)
    parts: set[KeyPath] = field(default_factory=set)


def written(page: Page) -> str:
    """Return the file's text. Raises ValueError where a text cannot be held by TOML."""
    # A line that begins with a colon is a directive of editors (taplo): no blank may stand before it.
    lines = [
        f"#{line}" if line.startswith(":") else toml_comment(line) if line else "#" for line in page.head
    ]
    lines.append("")
    lines += _table(page, page.data, ())
    return "\n".join(lines).rstrip("\n") + "\n"


def _table(page: Page, table: Mapping[str, Any], path: KeyPath) -> Iterator[str]:
    plain = {k: v for k, v in table.items() if not _own_table(v, (*path, k))}
    for key, value in plain.items():
        yield from _paragraphs(page.above.get((*path, key), ()))
        yield from _line(key, value, page.beside.get((*path, key)))
    yield from page.after.get(path, ())
    for key, value in table.items():
        if key not in plain:
            yield from _tables(page, value, (*path, key))


def _tables(page: Page, value: Any, path: KeyPath) -> Iterator[str]:
    name = ".".join(toml_key(str(part)) for part in path)
    if path in page.parts:
        yield ""
        yield _RULE
    if isinstance(value, Mapping):
        yield from _headed(page, path)
        # A table that holds tables alone needs no line of its own.
        if any(not _own_table(v, (*path, k)) for k, v in value.items()) or page.after.get(path) or not value:
            yield f"[{name}]"
        yield from _table(page, value, path)
        return
    yield from _headed(page, path)
    for index, item in enumerate(value):
        if index or page.above.get((*path, index)):
            yield from _headed(page, (*path, index))
        yield f"[[{name}]]"
        yield from _table(page, item, (*path, index))
    yield from page.after.get(path, ())


def _headed(page: Page, path: KeyPath) -> Iterator[str]:
    if path not in page.parts:
        yield ""
    yield from _paragraphs(page.above.get(path, ()))


def _paragraphs(lines: list[str] | tuple[()]) -> Iterator[str]:
    for text in lines:
        clean = toml_comment(text)
        yield from textwrap.wrap(
            clean, _WIDTH, subsequent_indent="# ", break_long_words=False, break_on_hyphens=False
        ) or ["#"]


def _line(key: str, value: object, why: str | None) -> Iterator[str]:
    text = f"{toml_key(key)} = {toml_value(value)}"
    if why is None:
        yield text
        return
    comment = toml_comment(why)
    beside = f"{text.ljust(_COLUMN - 1)} {comment}"
    if "\n" in text or len(beside) > _WIDTH:
        yield from _paragraphs([why])
        yield text
    else:
        yield beside


def _own_table(value: object, path: KeyPath) -> bool:
    """Say whether a value is written as [a.b] or [[a]]; what is small, or inside a list, stays on its line."""
    if any(isinstance(part, int) for part in path) or (path[0] == "floors" and len(path) > 1):
        return False
    if isinstance(value, Mapping):
        return True
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(v, Mapping) for v in value)
