"""Server arguments of a rig that no SGLang known here takes, or not every one: a warning or a note, never an error.

The lists (known.json) are written by rigs/sglang-cpu/known_arguments.py and end with the newest version that was
read, so a name that is not in them may well be right.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files

from tokgate.records.nccl import NcclLint
from tokgate.rig.models import Rig
from tokgate.rig.nearest import nearest_names
from tokgate.rig.spelling import KeyPath, dotted, spell
from tokgate.rig.values import ArgValue


@cache
def known_arguments() -> dict[str, frozenset[str]]:
    """SGLang version, oldest first -> the names of its long options, with `_` for `-`."""
    text = (files("tokgate.rig.arguments") / "known.json").read_text(encoding="utf-8")
    return {version: frozenset(names) for version, names in json.loads(text).items()}


def lint_arguments(rig: Rig) -> tuple[NcclLint, ...]:
    """Say which arguments of the server and of the arms SGLang may refuse, worst first."""
    findings = list(_doubts(("server", "args"), rig.server.args, rig))
    for i, arm in enumerate(rig.arms):
        findings += _doubts(("arms", i, "args"), arm.args, rig)
    return tuple(sorted(findings, key=lambda f: f.severity != "warning"))


def _doubts(here: KeyPath, args: Mapping[str, ArgValue], rig: Rig) -> Iterator[NcclLint]:
    known = known_arguments()
    lacking = {name: [v for v in known if name not in known[v]] for name in args}
    data = rig.model_dump()
    for name, versions in lacking.items():
        if not versions or args[name] is False:  # false leaves the flag out
            continue
        unknown = len(versions) == len(known)
        every = sorted(frozenset().union(*known.values()))
        whole = [n for n in known[versions[-1]] if n.startswith(name)] if unknown else []
        if len(whole) == 1:
            what = f"it is short for {whole[0]}, as long as no other argument begins so"
            do = f"write {whole[0]}"
        elif unknown:
            near = nearest_names(name, every)
            what = f"no SGLang known here takes --{name.replace('_', '-')} ({', '.join(known)})"
            do = (
                f"write {' or '.join(near)}, if that was meant"
                if near
                else "see --help of the server's SGLang"
            )
            do += "; a newer SGLang may have it"
        else:
            taken = [v for v in known if v not in versions]
            what = f"known to SGLang {', '.join(taken)}, not to {', '.join(versions)}"
            do = "see that the server's version is one that takes it"
        yield NcclLint(
            variable=dotted((*here, name), data),
            value=value if isinstance(value := args[name], str) else spell(value),
            severity="warning" if unknown and len(whole) != 1 else "note",
            what=what,
            do=do,
            source="ServerArgs.add_cli_args of these versions (tokgate/rig/arguments/known.json)",
        )
