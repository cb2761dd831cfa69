"""Which variables a server of one SGLang version writes into its own environment, whatever it was given."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from tokgate.records import Record, Unread

_RELEASE = re.compile(r"v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:\.?post(\d{1,4}))?")

_Release = tuple[int, ...]


class OverwrittenReading(Record):
    variables: dict[str, str]  # name -> "8 (engine.py)"
    values: dict[str, str] = {}  # name -> what is set, of those of `variables` where that is known
    filled: dict[str, str] = {}  # name -> what is set where the shell line leaves it unset
    unread: tuple[Unread, ...] = ()


class _Entry(NamedTuple):
    name: str
    words: str
    since: _Release
    until: _Release | None
    arguments: tuple[str, ...]
    without: tuple[str, ...]
    tp: bool
    value: str | None


def read_overwritten(version: str | None, arguments: Mapping[str, object]) -> OverwrittenReading:
    """Return what `version` overwrites when started with `arguments` (server argument -> value).

    An argument that is not in `arguments` is off. A version that nobody has read gets what the nearest
    read ones before and after it do, and says so in `unread`.
    """
    release = _release(version or "")
    if release is None:
        why = "which variables this server overwrites is not known: it tells no version"
        return OverwrittenReading(variables={}, unread=(Unread(text=str(version), why=why),))
    entries, fillings, read = _table()
    before = max((r for r in read if r <= release), default=None)
    after = min((r for r in read if r >= release), default=None)
    asked = [r for r in dict.fromkeys((before, after)) if r is not None]
    found = [e for e in entries if _applies(e, asked, arguments)]
    unread: tuple[Unread, ...] = ()
    # "0.5.11.dev20260512+g1234" is near 0.5.11, but nobody has read it.
    if release not in read or not _RELEASE.fullmatch(version or ""):
        told = " and ".join(_spell(r) for r in asked)
        why = f"what this version overwrites has not been read in its sources; taken from {told}"
        unread = (Unread(text=f"SGLang {version}"[:100], why=why),)
    words = {e.name: e.words for e in found}
    values = {e.name: {o.value for o in found if o.name == e.name} for e in found}
    filled = [e for e in fillings if e.name not in words and _applies(e, asked, arguments)]
    return OverwrittenReading(
        variables=words,
        values={n: v for n, several in values.items() if len(several) == 1 and (v := next(iter(several)))},
        filled={e.name: e.value for e in filled if e.value is not None},
        unread=unread,
    )


def newest_read() -> str:
    """Return the newest SGLang version whose sources have been read."""
    return _spell(max(_table()[2]))


def _applies(entry: _Entry, releases: list[_Release], arguments: Mapping[str, object]) -> bool:
    then = any(entry.since <= r and (entry.until is None or r <= entry.until) for r in releases)
    return then and _happens(entry, arguments)


def _happens(entry: _Entry, arguments: Mapping[str, object]) -> bool:
    if entry.tp and _size(arguments) < 2:
        return False
    if any(arguments.get(name) for name in entry.without):
        return False
    return not entry.arguments or any(arguments.get(name) for name in entry.arguments)


def _size(arguments: Mapping[str, object]) -> int:
    size = arguments.get("tp_size", arguments.get("tensor_parallel_size", arguments.get("tp", 1)))
    return int(size) if isinstance(size, int | str) and str(size).isdigit() else 1


def _release(version: str) -> _Release | None:
    match = _RELEASE.match(version)
    return tuple(int(part or 0) for part in match.groups()) if match else None


def _spell(release: _Release) -> str:
    *numbers, post = release
    return ".".join(map(str, numbers)) + (f".post{post}" if post else "")


@cache
def _table() -> tuple[tuple[_Entry, ...], tuple[_Entry, ...], frozenset[_Release]]:
    text = (files("tokgate.parsers") / "names" / "overwritten.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    read = frozenset(r for version in table["read"] if (r := _release(version)) is not None)
    return tuple(map(_entry, table["variables"])), tuple(map(_entry, table["filled"])), read


def _entry(row: Mapping[str, Any]) -> _Entry:
    return _Entry(
        name=row["name"],
        words=f"{row['what']} ({row['where']})",
        since=_release(row["since"]) or (),
        until=_release(row["until"]) if "until" in row else None,
        arguments=tuple(row.get("with", ())),
        without=tuple(row.get("without", ())),
        tp=row.get("tp", False),
        value=row.get("value"),
    )
