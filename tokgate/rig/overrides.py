"""`--rig-set server.args.tp_size=4`: single values of a rig, changed for one run."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokgate.rig.models import Rig
from tokgate.rig.nearest import known_names
from tokgate.rig.places import Kind, Place, look
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import KeyPath, child, spell

_FORM = "KEY=VALUE, for example server.args.tp_size=4 or arms.eagle3-2step.num_steps=3"


@dataclass(frozen=True)
class Change:
    path: KeyPath
    option: str  # for messages; without the value, which the message states unless it is a secret


class _NoSuchPlaceError(Exception):
    def __init__(self, path: Sequence[str | int], found: str, wanted: str) -> None:
        self.problem = Problem(tuple(path), found, wanted)


def apply_overrides(
    data: Mapping[str, Any], overrides: Sequence[str]
) -> tuple[dict[str, Any], tuple[Change, ...], list[Problem]]:
    """Return a changed copy of a rig's data, what was changed, and what could not be.

    List items are addressed by index or by name; names with dots may be written in quotes. New keys
    are made only in tables that take any name (server.args, server.environment, server.nccl, …).
    Values are TOML where they parse as such, else text; where only a text is possible they are text.
    """
    changed = copy.deepcopy(dict(data))
    changes: list[Change] = []
    problems: list[Problem] = []
    for override in overrides:
        try:
            key, parts, text = _split(override)
            changes.append(Change(_set(changed, parts, text), f"--rig-set {key}"))
        except _NoSuchPlaceError as error:
            problem = error.problem
            option = spell(f"--rig-set {override}")
            problems.append(Problem(problem.path, f"{problem.found} in {option}", problem.wanted))
    return changed, tuple(changes), problems


def parse_value(text: str, *, text_only: bool = False) -> Any:
    """Read a value as TOML, else take it as it stands."""
    try:
        table = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    value = table.pop("value")
    # More keys: the text went on to another line. Dates: no rig key takes one, a text was meant.
    plain = isinstance(value, bool | int | float | str | list | dict)
    return text if table or not plain or (text_only and not isinstance(value, str)) else value


def _split(override: str) -> tuple[str, list[str], str]:
    """Return the key as typed, its parts, and the value's text."""
    for index, character in enumerate(override):
        if character != "=":
            continue
        # Quoted names may hold an equals sign: take the first one that leaves a whole TOML key.
        try:
            node = tomllib.loads(f"{override[:index]} = 0")
        except (ValueError, RecursionError):
            continue
        parts: list[str] = []
        inner: Any = node
        while isinstance(inner, dict) and len(inner) == 1:
            part, inner = next(iter(inner.items()))
            parts.append(part)
        if inner == 0:
            return override[:index].strip(), parts, override[index + 1 :].strip()
    raise _NoSuchPlaceError((), "no key and value", _FORM)


def _set(data: dict[str, Any], parts: list[str], text: str) -> KeyPath:
    annotation: object = Rig
    node: Any = data
    path: list[str | int] = []
    rest = list(parts)
    while True:
        place = look(annotation, node)
        part = _next_part(place, node, rest, path)
        path.append(part)
        annotation = place.under(part)
        if not rest:
            below = look(annotation, child(node, part))
            node[part] = parse_value(text, text_only=below.text_only)
            return tuple(path)
        if child(node, part) is None:
            kind = look(annotation, None).kind
            if kind in (Kind.TABLE, Kind.OPEN):
                node[part] = {}
            elif kind is Kind.LIST:
                node[part] = []
        node = child(node, part)


def _next_part(place: Place, node: object, rest: list[str], path: Sequence[str | int]) -> str | int:
    """Take the next key off `rest`; names with unquoted dots take as many parts as they need."""
    if place.kind is Kind.VALUE:
        raise _NoSuchPlaceError(
            path, f"the key {spell(rest[0])} below it", "a single value: nothing lies below it"
        )
    if place.kind is Kind.LIST:
        if not isinstance(node, list):
            raise _NoSuchPlaceError(path, spell(node), "a list")
        names = [item.get("name") if isinstance(item, Mapping) else None for item in node]
        for length in range(len(rest), 0, -1):
            if (name := ".".join(rest[:length])) in names:
                del rest[:length]
                return names.index(name)
        first = rest.pop(0)
        if first.isascii() and first.isdigit() and int(first) < len(node):
            return int(first)
        known = [n for n in names if isinstance(n, str)] or [str(i) for i in range(len(node))]
        raise _NoSuchPlaceError(
            path, f"no item {spell(first)}", f"an item that is there, {known_names(first, known)}"
        )
    if not isinstance(node, dict):
        raise _NoSuchPlaceError(path, spell(node), "a table")
    if place.kind is Kind.OPEN:
        for length in range(len(rest), 0, -1):
            if (name := ".".join(rest[:length])) in node:
                del rest[:length]
                return name
        return rest.pop(0)
    name = rest.pop(0)
    if name not in place.names:
        raise _NoSuchPlaceError(
            [*path, name], "an unknown key", f"no key of this name here, {known_names(name, place.names)}"
        )
    return name
