"""What a shell's Tab offers for names of rigs, their arms, and run folders. It never fails: then it offers nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from tokgate.errors import GateError
from tokgate.rig.load import load_rig, rig_names
from tokgate.rig.repository import repository_of
from tokgate.rig.shipped import DEFAULT


def rigs_to_complete(
    ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    with contextlib.suppress(OSError, GateError):
        return _offered(rig_names(_root(ctx)), incomplete)
    return []


def arms_to_complete(
    ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the arms of the rig that stands on the line already, else those of the simulated box."""
    # An option without its value ends the reading of the line: what stands before it is then among the rest.
    words = [*(ctx.params.get(key) for key in ("name", "rig_name")), *ctx.args]
    with contextlib.suppress(OSError, GateError):
        known = rig_names(_root(ctx))
        rig = next((word for word in words if word in known), DEFAULT)
        return _offered((a.name for a in load_rig(rig, root=_root(ctx)).arms), incomplete)
    return []


def runs_to_complete(
    ctx: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Offer the run folders below reports/, the newest first, as paths."""
    with contextlib.suppress(OSError):
        found = sorted((_root(ctx) / "reports").glob("*/run.json"), reverse=True)
        return _offered((f"reports/{file.parent.name}" for file in found), incomplete)
    return []


def _root(ctx: click.Context) -> Path:
    named = ctx.find_root().params.get("root")
    return Path(named).resolve() if named else repository_of(Path.cwd())


def _offered(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]
