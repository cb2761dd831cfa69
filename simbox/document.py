"""The tables of docs/scenarios.md, from the scenario files and the knobs: `python -m simbox.document` rewrites them.

A table stands between two marks, of which the first says what it holds, so the prose around it stays as written:

    <!-- scenarios: heat drift -->        <!-- knobs -->
    <!-- end -->                          <!-- end -->
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable

from simbox.environment import CHECKOUT
from simbox.knobs import knobs, range_of
from simbox.scenario import FOLDER

DOCUMENT = CHECKOUT / "docs" / "scenarios.md"
_TABLE = re.compile(r"(<!-- (?:scenarios: (?P<names>[a-z0-9 -]+?)|knobs) -->\n).*?(<!-- end -->)", re.DOTALL)


def listed(text: str) -> list[str]:
    """Return the scenarios that the document's tables name, in its order."""
    return [name for found in _TABLE.finditer(text) for name in (found["names"] or "").split()]


def with_tables(text: str) -> str:
    """Return the document with every table written anew."""

    def table(found: re.Match[str]) -> str:
        rows = _scenarios(found["names"].split()) if found["names"] else _knobs()
        return "".join([found[1], *(f"{row}\n" for row in rows), found[3]])

    return _TABLE.sub(table, text)


def _scenarios(names: Iterable[str]) -> Iterable[str]:
    yield "| scenario | what happens | the gate must conclude | named by |"
    yield "|---|---|---|---|"
    for name in names:
        words = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
        yield f"| `{name}` | {words['title']} | {words['gate']} | {words['layer']} |"


def _knobs() -> Iterable[str]:
    yield "| knob | default | takes | what it is |"
    yield "|---|---|---|---|"
    for name, field in knobs().items():
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        shown = str(default).lower() if isinstance(default, bool) else repr(default)
        yield f"| `{name}` | `{shown}` | {range_of(field)} | {field.metadata['words']} |"


def main() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    DOCUMENT.write_text(with_tables(text), encoding="utf-8")


if __name__ == "__main__":
    main()
