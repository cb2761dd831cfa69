"""Scenarios: TOML files that turn knobs.

    title = "verify without a CUDA graph"
    gate = "what the gate must conclude"
    layer = "which layer names the cause"
    [knobs]
    verify_graph = false
    [random]                      # drawn anew for every seed
    eager_verify_ms = [10.0, 11.5]

Several may be combined; of two that turn the same knob the later wins.
"""

from __future__ import annotations

import dataclasses
import difflib
import random
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simbox.knobs import Knobs, knobs, range_of

FOLDER = Path(__file__).parent / "scenarios"
_KINDS: dict[str, tuple[type, ...]] = {"bool": (bool,), "int": (int,), "float": (int, float), "str": (str,)}


class ScenarioError(Exception):
    """A scenario that cannot be played; the message names file, key, value and range."""


@dataclass(frozen=True)
class Scenario:
    """What was asked for, combined and drawn."""

    names: tuple[str, ...]
    seed: int
    knobs: Knobs


def load(names: Sequence[str], *, seed: int = 0) -> Scenario:
    """Read, check and combine scenario files by name or path. ScenarioError."""
    values: dict[str, Any] = {}
    for name in names:
        values |= _read(name, seed)
    return Scenario(
        names=tuple(Path(n).stem for n in names), seed=seed, knobs=dataclasses.replace(Knobs(), **values)
    )


def known() -> tuple[str, ...]:
    """Return the names of the scenarios that come with the box."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))


def _read(name: str, seed: int) -> dict[str, Any]:
    file = Path(name) if name.endswith(".toml") or "/" in name else FOLDER / f"{name}.toml"
    try:
        if not file.is_file():
            raise ScenarioError(f"no scenario {name!r} ({file}){_nearest(Path(name).stem, known())}")
        read = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError(f"the scenario {name[:200]!r} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # no TOML, no UTF-8, a number of thousands of digits
        raise ScenarioError(f"{file} is no TOML: {error}") from error
    for key in read:
        if key not in ("title", "gate", "layer", "needs", "knobs", "random"):
            raise ScenarioError(
                f"{file}: unknown key {key!r}{_nearest(key, ('title', 'gate', 'layer', 'knobs', 'random'))}"
            )
    for table in ("knobs", "random"):
        if not isinstance(read.get(table, {}), dict):
            raise ScenarioError(f"{file}: {table} = {read[table]!r}: write a table, [{table}]")
    values = {key: _checked(file, key, value) for key, value in read.get("knobs", {}).items()}
    drawn = random.Random(f"{seed}/{file.stem}")  # noqa: S311 - a repeatable draw, not a secret
    for key, limits in read.get("random", {}).items():
        if not (isinstance(limits, list) and len(limits) == 2):
            raise ScenarioError(f"{file}: [random] {key} = {limits!r}: give [lowest, highest]")
        low, high = (_checked(file, key, limit) for limit in limits)
        if isinstance(low, bool) or not isinstance(low, int | float) or low > high:
            raise ScenarioError(f"{file}: [random] {key} = {limits!r}: give two numbers, the lower one first")
        values[key] = drawn.randint(low, high) if isinstance(low, int) else drawn.uniform(low, high)
    return values


def _checked(file: Path, key: str, value: Any) -> Any:
    field = knobs().get(key)
    if field is None:
        raise ScenarioError(f"{file}: unknown knob {key!r}{_nearest(key, tuple(knobs()))}")
    meta, kind = field.metadata, str(field.type)
    items = value if kind.startswith("tuple") and isinstance(value, list) else [value]
    element = ("int" if "int" in kind else "str") if kind.startswith("tuple") else kind
    good = kind.startswith("tuple") == isinstance(value, list)
    for item in items:
        good = good and isinstance(item, _KINDS[element]) and isinstance(item, bool) == (element == "bool")
        if good and meta["allowed"]:
            good = item in meta["allowed"]
        if good and meta["low"] is not None:
            good = meta["low"] <= item <= meta["high"]
    if not good:
        raise ScenarioError(
            f"{file}: {key} = {value!r} is out of range: it takes {range_of(field)} ({meta['words']})"
        )
    return tuple(value) if isinstance(value, list) else float(value) if element == "float" else value


def _nearest(word: str, among: Sequence[str]) -> str:
    close = difflib.get_close_matches(word, among, n=1, cutoff=0.4)
    return f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(among)}"
