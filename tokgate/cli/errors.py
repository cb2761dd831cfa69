"""Errors at the command line: their text on stderr, an exit code of their own, no traceback."""

from __future__ import annotations

from typing import Any

import click

from tokgate.errors import GateError, UsageError
from tokgate.records.verdict import EXIT_CODES, Outcome

USAGE_EXIT_CODE = 4  # pytest's own code for a usage error


class GateGroup(click.Group):
    """The outermost group: turns every GateError into its text and an exit code."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except GateError as error:
            click.echo(str(error), err=True)
            ctx.exit(USAGE_EXIT_CODE if isinstance(error, UsageError) else EXIT_CODES[Outcome.INVALID])
