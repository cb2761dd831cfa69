"""What is wrong with a rig, in sentences that name the key, the value found and the value wanted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from tokgate.errors import RigError
from tokgate.rig.models import Rig
from tokgate.rig.nearest import known_names
from tokgate.rig.places import place_at
from tokgate.rig.spelling import KeyPath, child, dotted, spell

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

# pydantic's error type -> the value wanted; types that are not listed speak for themselves.
_WANTED = {
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "a text (in quotes)",
    "tuple_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "model_attributes_type": "a table",
}
# The same for what a model's own rule says of some of its keys (ArmSpec).
_OF_KEYS = {
    "arm_lacks": "an eagle3 arm needs one",
    "arm_has_too_much": "no such key: a baseline arm runs without speculation",
}


@dataclass(frozen=True)
class Problem:
    path: KeyPath
    found: str
    wanted: str


def rig_error(
    file: Path, problems: Sequence[Problem], data: object, origin: Callable[[KeyPath], str | None]
) -> RigError:
    """Put all problems of one file into one error; `origin` names the option a value came from."""
    lines = []
    for problem in problems:
        where = dotted(problem.path, data) or "(top level)"
        option = origin(problem.path)
        suffix = f" (set by {option})" if option else ""
        lines.append(f"{where}: found {problem.found}; wanted {problem.wanted}{suffix}")
    if len(lines) == 1:
        found = lines[0]
    else:
        found = f"{len(lines)} problems" + "".join(f"\n  - {line}" for line in lines)
    return RigError(
        tried=f"read the rig {file}",
        found=found,
        do=f"mend {'this key' if len(lines) == 1 else 'these keys'}; "
        "`tokgate rig schema` lists every key with its meaning",
    )


def problems_of(error: ValidationError, data: object) -> tuple[list[Problem], list[KeyPath]]:
    """Translate pydantic's errors about `data`; the second list holds the paths of unknown keys."""
    wanted: dict[KeyPath, list[str]] = {}
    found: dict[KeyPath, str] = {}
    unknown: list[KeyPath] = []
    for detail in error.errors(include_url=False):
        if detail["type"] in _OF_KEYS:
            for problem in _of_keys(detail, data):
                found[problem.path] = problem.found
                wanted[problem.path] = [problem.wanted]
            continue
        path = _path_in(data, detail)
        found.setdefault(path, _found(detail))
        words = wanted.setdefault(path, [])
        text = _wanted(detail, path, data)
        if text not in words:
            words.append(text)
        if detail["type"] == "extra_forbidden":
            unknown.append(path)
    # A choice among types fails as a whole and in its parts, and a list whose items are all wrong
    # counts as empty: the deepest complaint is the one that helps.
    kept = [p for p in wanted if not any(o != p and o[: len(p)] == p for o in wanted)]
    return [Problem(p, found[p], " or ".join(wanted[p])) for p in kept], unknown


def _path_in(data: object, detail: ErrorDetails) -> KeyPath:
    """Pydantic's location without the names of union members, which stand in no file."""
    path: list[str | int] = []
    node = data
    for index, part in enumerate(detail["loc"]):
        below = child(node, part)
        inside = (isinstance(node, Mapping) and part in node) or below is not None
        if inside:
            node = below
        if inside or (detail["type"] == "missing" and index == len(detail["loc"]) - 1):
            path.append(part)
    return tuple(path)


def _of_keys(detail: ErrorDetails, data: object) -> Iterator[Problem]:
    """Split what a model says of several keys of its own: each is told at its place."""
    table, arm = _path_in(data, detail), detail["input"]
    for key in detail["ctx"]["keys"]:
        written = arm.get(key) if isinstance(arm, Mapping) else None
        wanted = _OF_KEYS[detail["type"]]
        if written is None:
            wanted = f"{_description((*table, key), data).removeprefix('a value: ')}: {wanted}"
        yield Problem((*table, key), spell(written), wanted)


def _found(detail: ErrorDetails) -> str:
    return "nothing" if detail["type"] == "missing" else spell(detail["input"])


def _wanted(detail: ErrorDetails, path: KeyPath, data: object) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind in _WANTED:
        return _WANTED[kind]
    if kind == "missing":
        return _description(path, data)
    if kind == "extra_forbidden":
        place = place_at(Rig, path[:-1], data)
        return "no key of this name here, " + known_names(str(path[-1]), place.names if place else ())
    if kind in ("literal_error", "union_tag_invalid"):
        expected = str(context.get("expected", context.get("expected_tags"))).replace("'", '"')
        return expected.replace('", "', '" or "')
    if kind == "union_tag_not_found":
        return 'a table with kind = "token-ids" or kind = "text"'
    if kind == "string_pattern_mismatch":
        return f"a text that matches {context['pattern']}"
    return detail["msg"].removeprefix("Input should be ").removeprefix("Value error, ")


def _description(path: KeyPath, data: object) -> str:
    """Words for a key that is not there: what the model says it is for."""
    place = place_at(Rig, path[:-1], data)
    field = place.model.model_fields.get(str(path[-1])) if place and place.model else None
    return f"a value: {field.description}" if field and field.description else "a value"
