"""The names that NCCL reads, by version (known.toml)."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from .versions import Version, read_version

PREFIX = "NCCL_"


class Known(NamedTuple):
    name: str
    kind: Literal["integer", "text"]
    since: Version
    until: Version
    default: int | None  # None: a text, nothing that one number tells, or not the same in all versions


class _Table(NamedTuple):
    variables: dict[str, Known]
    gone: dict[str, str]
    others: dict[str, str]
    first: Version
    last: Version


def variables() -> dict[str, Known]:
    """Return every variable of every version read, by name."""
    return _table().variables


def newest_read() -> Version:
    return _table().last


def is_known(name: str, version: Version) -> bool:
    """Tell whether `version` reads `name`; versions beyond those read count as the nearest one."""
    found = _table().variables.get(name)
    return found is not None and found.since <= _within(version) <= found.until


def successor(name: str) -> str | None:
    """Return what took the place of a variable that no version read has any more."""
    return _table().gone.get(name)


def other_reader(name: str) -> str | None:
    """Return who else reads `name`, where NCCL does not."""
    table = _table().others
    whole = table.get(name)
    prefix = next((p for p in table if p.endswith("_") and name.startswith(p)), None)
    return whole if whole is not None else table[prefix] if prefix else None


def _within(version: Version) -> Version:
    table = _table()
    return min(max(version, table.first), table.last)


@cache
def _table() -> _Table:
    text = (files("tokgate.rig.nccl") / "known.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    read = sorted(v for spelled in table["read"] if (v := read_version(spelled)) is not None)
    kinds: tuple[tuple[str, Literal["integer", "text"]], ...] = (("integers", "integer"), ("texts", "text"))
    found = {
        name: Known(
            name=name,
            kind=kind,
            since=read_version(row.get("since")) or read[0],
            until=read_version(row.get("until")) or read[-1],
            default=row.get("default"),
        )
        for section, kind in kinds
        for name, row in table[section].items()
    }
    return _Table(found, table["gone"], table["others"], read[0], read[-1])
