"""docs/rig-reference.md: every key of a rig file, from the models themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

from .limits import LARGEST
from .schema import rig_schema

Schema = Mapping[str, Any]

# TOML heading of each table, in the order of the models; what is None stands above the first table.
_HEADINGS = {
    "": "(above the first table)",
    "arms": "[[arms]]",
    "prompt_sets": "[prompt_sets.NAME]",
    "workloads": "[[workloads]]",
    "budgets": "[[budgets]]",
    "twins": "[[twins]]",
    "floors": "[floors.METRIC]",
}
_BOUNDS = (("minimum", "≥"), ("exclusiveMinimum", ">"), ("maximum", "≤"), ("exclusiveMaximum", "<"))
_WORDS = {"string": "text", "boolean": "true or false", "integer": "whole number", "number": "number"}


# What a server argument may be (values.py: ArgValue).
_ANY, _ANY_FROM = "texts, numbers, true, false or lists of them", 4


def reference_text() -> str:
    """Return docs/rig-reference.md, byte for byte."""
    head = files("tokgate.rig").joinpath("reference_head.md").read_text(encoding="utf-8")
    return head + "\n" + "\n".join(_tables(rig_schema())).rstrip("\n") + "\n"


def _tables(schema: Schema) -> Iterator[str]:
    own = {k: v for k, v in schema["properties"].items() if not _members(schema, v)}
    yield from _table(schema, _HEADINGS[""], schema.get("description", ""), own, schema["required"])
    for name, found in schema["properties"].items():
        members = _members(schema, found)
        for member in members:
            kind = f', kind = "{_kind(member)}"' if len(members) > 1 else ""
            heading = _HEADINGS.get(name, f"[{name}]") + kind
            told = member.get("description", "")
            needed = "Required." if name in schema["required"] else _left_out(found)
            about = f"{told} {needed}".strip()
            yield from _table(schema, heading, about, member["properties"], member.get("required", ()))


def _table(
    schema: Schema,
    heading: str,
    about: str,
    keys: Mapping[str, Schema],
    required: tuple[str, ...] | list[str],
) -> Iterator[str]:
    yield f"## {heading}" if heading.startswith("(") else f"## `{heading}`"
    yield ""
    if about:
        yield " ".join(about.split())
        yield ""
    yield "| key | takes | default | what it is |"
    yield "|---|---|---|---|"
    for key, found in keys.items():
        default = "required" if key in required else _default(found)
        cells = (f"`{key}`", _takes(schema, found), default, found.get("description", ""))
        yield f"| {' | '.join(_cell(c) for c in cells)} |"
    yield ""


def _members(schema: Schema, found: Schema) -> list[Schema]:
    """Return the models behind a key of the rig: one for a table, several where `kind` decides; none: a plain value."""
    if "$ref" in found:
        return [schema["$defs"][found["$ref"].rpartition("/")[2]]]
    if "items" in found:
        return _members(schema, found["items"])
    for several in ("anyOf", "oneOf"):
        if several in found:
            return [one for each in found[several] for one in _members(schema, each)]
    inner = found.get("additionalProperties") or next(iter(found.get("patternProperties", {}).values()), None)
    return _members(schema, inner) if isinstance(inner, Mapping) else []


def _kind(member: Schema) -> str:
    return str(member["properties"]["kind"]["const"])


def _takes(schema: Schema, found: Schema) -> str:
    """Return what a value may be, in words: "whole number ≥ 1", "`auto` or `nvidia-smi`", "list of texts"."""
    if "$ref" in found:
        return "table"
    if "const" in found:
        return f"`{found['const']}`"
    if "enum" in found:
        return " or ".join(f"`{value}`" for value in found["enum"])
    if "anyOf" in found:
        told = [_takes(schema, one) for one in found["anyOf"] if one.get("type") != "null"]
        return _ANY if len(told) >= _ANY_FROM else " or ".join(dict.fromkeys(told))
    if found.get("type") == "array":
        return f"list of {_plural(_takes(schema, found['items']))}"
    if found.get("type") == "object":
        inner = found.get("additionalProperties") or next(iter(found.get("patternProperties", {}).values()))
        return f"table of {_plural(_takes(schema, inner))}"
    bounds = [f"{sign} {found[name]:g}" for name, sign in _BOUNDS if name in found and found[name] < LARGEST]
    return " ".join((_WORDS[found["type"]], ", ".join(bounds))).strip()


def _plural(words: str) -> str:
    if words == _ANY:
        return words
    first, *more = words.split(" or ")
    head = first.replace("whole number", "whole numbers").replace("text", "texts")
    head = "numbers" + head[len("number") :] if head.startswith("number") else head
    return " or ".join((head, *more))


def _default(found: Schema) -> str:
    default = found.get("default")
    if default is None:
        return "not set"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    if isinstance(default, list | dict):
        return f"`{_toml(default)}`" if default else "none"
    return f'`"{default}"`' if isinstance(default, str) else f"`{default:g}`"


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_toml(one) for one in value)}]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items()) + " }"
    return f'"{value}"' if isinstance(value, str) else f"{value:g}"


def _left_out(found: Schema) -> str:
    default = found.get("default")
    if isinstance(default, list) and default:
        return f"Left out: one entry, `{_toml(default[0])}`."
    return "Left out: its defaults." if default else "Left out: there is none."


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
