"""What Tab offers for scenarios."""

from __future__ import annotations

import contextlib

import click
from click.shell_completion import CompletionItem

from tokgate.cli.sim_program import HEALTHY, scenarios
from tokgate.errors import GateError


def scenarios_to_complete(
    _context: click.Context, _parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    with contextlib.suppress(GateError):
        known = [(HEALTHY, "nothing is wrong"), *((one.name, one.title) for one in scenarios())]
        return [CompletionItem(name, help=words) for name, words in known if name.startswith(incomplete)]
    return []
