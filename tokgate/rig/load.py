"""From a rig's name to a frozen `Rig`, or to one error that lists everything wrong with it."""

from __future__ import annotations

import copy
import hashlib
import math
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tokgate.errors import RigError
from tokgate.rig.models import Rig
from tokgate.rig.nearest import misspelt
from tokgate.rig.overrides import apply_overrides
from tokgate.rig.problems import Problem, problems_of, rig_error
from tokgate.rig.required import required_patches, set_by_us
from tokgate.rig.rules.arms import broken_arms
from tokgate.rig.rules.budgets import broken_budgets
from tokgate.rig.rules.gpus import broken_gpus
from tokgate.rig.rules.host import broken_host
from tokgate.rig.rules.instruments import broken_instruments
from tokgate.rig.rules.names import broken_names
from tokgate.rig.rules.nccl import broken_nccl
from tokgate.rig.rules.nodes import broken_nodes
from tokgate.rig.rules.numbers import broken_numbers
from tokgate.rig.rules.prompts import broken_prompts
from tokgate.rig.rules.sampling import broken_sampling
from tokgate.rig.rules.settings import broken_settings
from tokgate.rig.rules.sweep import broken_sweep
from tokgate.rig.shipped import shipped_root
from tokgate.rig.sides import PatchText
from tokgate.rig.spelling import KeyPath, spell
from tokgate.rig.workload import PromptSet, TextPrompts

_FOLDER = "rigs"
# The largest shipped one has 8 KiB. A parser takes minutes for what is no rig, a log or weights.
_MOST_BYTES = 256 << 10
# The deepest key has 5 parts. What is nested some hundred times deep is more than Python's own copying takes.
_MOST_DEEP = 32
_RULES = (
    broken_names,
    broken_arms,
    broken_settings,
    broken_numbers,
    broken_host,
    broken_nodes,
    broken_gpus,
    broken_nccl,
    broken_prompts,
    broken_instruments,
    broken_sampling,
    broken_budgets,
    broken_sweep,
)


def load_rig(name_or_path: str, *, root: Path, overrides: Sequence[str] = ()) -> Rig:
    """Load NAME.toml of `root`/rigs or of the shipped rigs, or the file itself where a path ending in .toml is given.

    `{root}` in any text becomes the folder that the rig belongs to: `root`, the repository, or the one of the shipped
    rigs; `{repository}` becomes `root` in both, and is where a rig may have things written. Relative paths of prompt
    files become absolute ones. `overrides` are `KEY=VALUE` as after `--rig-set`. Raises RigError, which names the file
    and, for every problem, key, value found and value wanted.
    """
    file = rig_file(name_or_path, root=root)
    home = _home(file, root)
    written = _read(file)
    data, changes, problems = apply_overrides(written, overrides)
    data = _expand(data, {"{root}": str(home), "{repository}": str(root.resolve())})
    _anchor_prompt_files(data, file.parent)
    problems += _odd_values(data)
    problems += set_by_us(data)

    rig, more = _validate(data)
    required: tuple[PatchText, ...] = ()
    if rig is not None:
        more += _broken_rules(rig, file)
        required, unread = required_patches(rig, home)
        more += unread
    known = {p.path for p in problems}
    problems += [p for p in more if p.path not in known]

    if problems or rig is None:

        def origin(path: KeyPath) -> str | None:
            return next((c.option for c in reversed(changes) if path[: len(c.path)] == c.path), None)

        raise rig_error(file, problems, data, origin)
    prompt_sets = {name: _with_hash(prompts) for name, prompts in rig.prompt_sets.items()}
    server = rig.server.model_copy(update={"required": required}) if required else rig.server
    return rig.model_copy(update={"checkout": str(home), "prompt_sets": prompt_sets, "server": server})


def _with_hash(prompts: PromptSet) -> PromptSet:
    if not isinstance(prompts, TextPrompts):
        return prompts
    content = Path(prompts.file).read_bytes()  # the rules have read it already
    return prompts.model_copy(update={"sha256": hashlib.sha256(content).hexdigest()})


def rig_names(root: Path) -> tuple[str, ...]:
    """Names of the rigs that can be used in the repository `root`, sorted: its own and the shipped ones."""
    return tuple(sorted({*own_rig_names(root), *own_rig_names(shipped_root())}))


def own_rig_names(root: Path) -> tuple[str, ...]:
    """Names of the rigs that lie in `root`/rigs, sorted."""
    return tuple(sorted(p.stem for p in (root / _FOLDER).glob("*.toml")))


def rig_file(name_or_path: str, *, root: Path) -> Path:
    """Find a rig's file: by its name in `root`/rigs, then among the shipped ones; or by its path.

    A relative path counts from the working folder, then from `root`.
    """
    path = Path(name_or_path)
    if path.is_absolute() or path.suffix == ".toml":
        candidates = [path, root / path]
    else:
        candidates = [home / _FOLDER / f"{name_or_path}.toml" for home in (root, shipped_root())]
    for candidate in candidates:
        # A name too long, or a folder that may not be entered, is no rig either.
        with suppress(OSError):
            if candidate.is_file():
                return candidate
    names = rig_names(root)
    close = misspelt(path.stem if path.suffix == ".toml" else path.name, names)
    raise RigError(
        tried=f"find the rig {spell(name_or_path)}",
        found=f"no file {spell(str(candidates[0]), limit=300)}; rigs that exist: {', '.join(names) or 'none'}",
        do=f"use {spell(close)}, the nearest name"
        if close
        else "name one of these, or write the file: `tokgate rig init` asks the host for what is in it",
    )


def _home(file: Path, root: Path) -> Path:
    """Return the folder that a rig belongs to, what `{root}` stands for in it."""
    shipped = shipped_root()
    return shipped if file.resolve().parent == shipped / _FOLDER else root.resolve()


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as opened:
            content = opened.read(_MOST_BYTES + 1)
        if len(content) > _MOST_BYTES:
            raise RigError(
                tried=f"read the rig {file}",
                found=f"more than {_MOST_BYTES >> 10} KiB, which no rig is",
                do="name a rig's file: `tokgate rig list` has them",
            )
        # Windows editors begin a file with a byte order mark.
        data = tomllib.loads(content.decode("utf-8-sig"))
    except OSError as error:
        found, do = error.strerror or str(error), "make it a file that can be read"
    except UnicodeDecodeError as error:
        found, do = f"bytes that are not UTF-8 at offset {error.start}", "save it as UTF-8"
    except (ValueError, RecursionError) as error:
        # TOMLDecodeError, whose message names line and column; or a number or a nesting beyond Python's limits.
        found, do = f"invalid TOML: {error}", "mend that line"
    else:
        if not _deeper_than(data, _MOST_DEEP):
            return data
        found = f"tables in tables, more than {_MOST_DEEP} deep, which no rig has"
        do = "mend its tables' names: `tokgate rig reference` has all that there are"
    raise RigError(tried=f"read the rig {file}", found=found, do=do)


def _deeper_than(data: object, most: int) -> bool:
    below = [data]
    for _ in range(most):
        below = [
            child
            for one in below
            if isinstance(one, dict | list)
            for child in (one.values() if isinstance(one, dict) else one)
        ]
        if not below:
            return False
    return True


def _expand(value: Any, places: Mapping[str, str]) -> Any:
    match value:
        case str():
            for written, place in places.items():
                value = value.replace(written, place)
            return value
        case dict():
            return {k: _expand(v, places) for k, v in value.items()}
        case list():
            return [_expand(v, places) for v in value]
        case _:
            return value


def _anchor_prompt_files(data: dict[str, Any], folder: Path) -> None:
    sets = data.get("prompt_sets")
    for prompts in sets.values() if isinstance(sets, dict) else ():
        if isinstance(prompts, dict) and isinstance(prompts.get("file"), str):
            prompts["file"] = str(folder.resolve() / prompts["file"])


def _odd_values(value: object, path: KeyPath = ()) -> Iterator[Problem]:
    """TOML knows dates, infinities and control characters; no key of a rig takes them."""
    match value:
        case dict():
            for key, below in value.items():
                yield from _odd_values(below, (*path, key))
        case list():
            for index, below in enumerate(value):
                yield from _odd_values(below, (*path, index))
        case float() if not math.isfinite(value):
            yield Problem(path, spell(value), "a finite number")
        case str() if any(not c.isprintable() and ord(c) < 0xA0 and c not in "\n\t" for c in value):
            yield Problem(path, spell(value), "a text without control characters")
        case int() if value.bit_length() > 64:
            yield Problem(path, spell(value), "one of 64 bits at most")
        case bool() | int() | float() | str():
            return
        case _:
            yield Problem(path, f"the date or time {value}", "a text (in quotes) or a number")


def _validate(data: dict[str, Any]) -> tuple[Rig | None, list[Problem]]:
    """Validate; where only unknown keys are in the way, go on without them to find what else is wrong."""
    try:
        return Rig.model_validate(_freeze(data), strict=True), []
    except ValidationError as error:
        problems, unknown = problems_of(error, data)
    if not unknown or len(unknown) != len(problems):
        return None, problems
    try:
        return Rig.model_validate(_freeze(_without(data, unknown)), strict=True), problems
    except ValidationError:
        return None, problems


def _without(data: dict[str, Any], paths: Sequence[KeyPath]) -> dict[str, Any]:
    rest = copy.deepcopy(data)
    for path in paths:
        node: Any = rest
        for part in path[:-1]:
            node = node[part]
        del node[path[-1]]
    return rest


def _freeze(value: Any) -> Any:
    """Lists become tuples: strict validation, which takes no "4" for 4, takes no list for a tuple either."""
    match value:
        case dict():
            return {k: _freeze(v) for k, v in value.items()}
        case list():
            return tuple(_freeze(v) for v in value)
        case _:
            return value


def _broken_rules(rig: Rig, file: Path) -> list[Problem]:
    problems = []
    if rig.name != file.stem:
        problems.append(Problem(("name",), spell(rig.name), f"{spell(file.stem)}, the name of the file"))
    for rule in _RULES:
        problems += rule(rig)
    return problems
