"""SGLang's command line, refused as SGLang refuses it.

The names, types and choices are data (data/arguments-VERSION.json, written by generate_arguments.py). Our own
options all begin with `--sim-`, and SIMBOX_VERSION, SIMBOX_SCENARIO, SIMBOX_STATE and SIMBOX_SEED may stand in for
them.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from simbox import VERSIONS

_SUFFIX = {"k": 10**3, "K": 2**10, "m": 10**6, "M": 2**20, "g": 10**9, "G": 2**30}


@dataclass(frozen=True)
class Command:
    """What was asked for on the command line."""

    version: str  # the SGLang dialect to speak
    args: dict[str, Any]  # every argument of SGLang by its field name, defaults included
    line: tuple[str, ...]  # as given, without our own options
    scenarios: tuple[str, ...]
    state: Path | None
    seed: int | None
    given: frozenset[str] = field(default=frozenset())  # names of the arguments that were written


def default_version(environment: Mapping[str, str]) -> str:
    """Return the dialect to speak when the command line does not say."""
    return environment.get("SIMBOX_VERSION", VERSIONS[-1])


def parse(argv: Sequence[str], environment: Mapping[str, str] | None = None) -> Command:
    """Read SGLang's command line. SystemExit(2), with argparse's words, for what SGLang would refuse."""
    environment = os.environ if environment is None else environment
    own = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    own.add_argument("--sim-version", default=default_version(environment), choices=VERSIONS)
    own.add_argument("--sim-scenario", action="append")
    own.add_argument("--sim-state", default=environment.get("SIMBOX_STATE"))
    own.add_argument("--sim-seed", type=int, default=environment.get("SIMBOX_SEED"))
    ours, rest = own.parse_known_args(list(argv))
    parser = _parser(ours.sim_version)
    args = vars(parser.parse_args(rest))
    bare = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    _fill(bare, ours.sim_version, defaults=False)
    named = ours.sim_scenario or [environment.get("SIMBOX_SCENARIO", "")]
    return Command(
        version=ours.sim_version,
        args=args,
        line=tuple(rest),
        scenarios=tuple(n for part in named for n in part.split(",") if n),
        state=Path(ours.sim_state) if ours.sim_state else None,
        seed=ours.sim_seed,
        given=frozenset(vars(bare.parse_args(rest))),
    )


def _parser(version: str) -> argparse.ArgumentParser:
    # SGLang is run as a module, so argparse names the file.
    parser = argparse.ArgumentParser(prog="launch_server.py")
    _fill(parser, version, defaults=True)
    return parser


def _fill(parser: argparse.ArgumentParser, version: str, *, defaults: bool) -> None:
    text = resources.files("simbox.data").joinpath(f"arguments-{version}.json").read_text(encoding="utf-8")
    for row in json.loads(text)["arguments"]:
        options: dict[str, Any] = {"dest": row["dest"], "required": row["required"]}
        if defaults:
            options["default"] = row["default"]
        if row["kind"] == "flag":
            options["action"] = "store_true"
        elif row["kind"] == "switch":
            options["action"] = argparse.BooleanOptionalAction
        else:
            options |= {"type": _TYPES[row["kind"]], "nargs": row["nargs"]}
            # SGLang's choices of a non-text type are compared after conversion; ours are stored as text.
            if row["choices"]:
                options["choices"] = [_TYPES[row["kind"]](c) for c in row["choices"]]
        parser.add_argument(*row["flags"], **options)


def _count(text: str) -> int:
    """`4k` is 4000 and `4K` is 4096, as SGLang reads counts."""
    if text and text[-1] in _SUFFIX:
        return int(float(text[:-1]) * _SUFFIX[text[-1]])
    return int(text)


_TYPES: dict[str, Any] = {"str": str, "int": int, "float": float, "json": json.loads, "count": _count}
