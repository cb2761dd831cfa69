"""Write data/arguments-VERSION.json: the command line of one SGLang version as data.

    python generate_arguments.py 0.5.23 OUT                      with that SGLang importable
    python generate_arguments.py 0.5.9 OUT path/server_args.py   from its source alone, nothing imported

The second way reads `parser.add_argument(...)` calls, as they were written up to 0.5.9. What an expression computes
(choices held in a variable) is left out there: such a value is accepted as it stands.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import sys
from pathlib import Path
from typing import Any

# What a value is turned into; anything else stays the text it was.
TYPES = {
    "int": "int",
    "float": "float",
    "loads": "json",
    "json_list_type": "json",
    "human_readable_int": "count",
}
FLAGS = {
    "_StoreTrueAction": "flag",
    "DeprecatedStoreTrueAction": "flag",
    "BooleanOptionalAction": "switch",
    "store_true": "flag",
}


def from_parser(parser: argparse.ArgumentParser) -> list[dict[str, Any]]:
    """Describe every action of a real parser."""
    rows = []
    for action in parser._actions:  # noqa: SLF001 - argparse offers no public list of its actions
        if action.dest == "help":
            continue
        kind = getattr(action.type, "__name__", "str")
        rows.append(
            {
                "flags": [f for f in action.option_strings if not f.startswith("--no-")],
                "dest": action.dest,
                "kind": FLAGS.get(type(action).__name__, TYPES.get(kind, "str")),
                "nargs": action.nargs if isinstance(action.nargs, str) else None,
                "choices": [str(c) for c in action.choices] if action.choices else None,
                "default": action.default if _plain(action.default) else None,
                "required": action.required,
            }
        )
    return rows


def from_source(text: str) -> list[dict[str, Any]]:
    """Read the same from the source of server_args.py."""
    tree = ast.parse(text)
    record = next(n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == "ServerArgs")
    fields = [n for n in record.body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
    defaults = {ast.unparse(n.target): _literal(n.value) for n in fields}
    rows = []
    for call in ast.walk(record):
        if (
            isinstance(call, ast.Call)
            and isinstance(call.func, ast.Attribute)
            and call.func.attr == "add_argument"
        ):
            flags = [a.value for a in call.args if isinstance(a, ast.Constant)]
            given = {k.arg: k.value for k in call.keywords}
            names = [str(f).removeprefix("--").replace("-", "_") for f in flags]
            # `--tensor-parallel-size` fills the field tp_size: ServerArgs.from_cli_args maps them by hand.
            dest = _literal(given.get("dest")) or next((n for n in names if n in defaults), names[0])
            action, kind = _literal(given.get("action")), given.get("type")
            name = kind.id if isinstance(kind, ast.Name) else getattr(kind, "attr", "str")
            rows.append(
                {
                    "flags": flags,
                    "dest": dest,
                    "kind": FLAGS.get(str(action), TYPES.get(str(name), "str")),
                    "nargs": _literal(given.get("nargs")),
                    "choices": [str(c) for c in _literal(given.get("choices")) or []] or None,
                    "default": defaults.get(dest),
                    "required": bool(_literal(given.get("required"))),
                }
            )
    return rows


def _literal(node: ast.expr | None) -> Any:
    try:
        return None if node is None else ast.literal_eval(node)
    except ValueError:
        return None


def _plain(value: object) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return value != argparse.SUPPRESS


def main() -> None:
    version, out = sys.argv[1], Path(sys.argv[2])
    if len(sys.argv) > 3:
        rows = from_source(Path(sys.argv[3]).read_text(encoding="utf-8"))
    else:
        parser = argparse.ArgumentParser()
        importlib.import_module("sglang.srt.server_args").ServerArgs.add_cli_args(parser)
        rows = from_parser(parser)
    lines = ",\n".join(json.dumps(row) for row in rows)
    out.write_text(f'{{"sglang": "{version}", "arguments": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
