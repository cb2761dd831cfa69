"""Errors at the command line: their text on stderr, an exit code of their own, no traceback."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import click

from tokgate.cli.folding import folded
from tokgate.cli.help import TaughtGroup
from tokgate.errors import GateError, UsageError
from tokgate.records.verdict import EXIT_CODES, Outcome

USAGE_EXIT_CODE = 4  # pytest's own code for a usage error


class GateGroup(TaughtGroup):
    """The outermost group: turns every error into tried, found, do, and an exit code."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        with _told():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        with _told():
            return super().invoke(ctx)


class _Told(click.ClickException):
    exit_code = EXIT_CODES[Outcome.INVALID]

    def show(self, file: Any = None) -> None:
        click.echo(folded(self.message), err=file is None, file=file)


class _ToldUsage(_Told):
    exit_code = USAGE_EXIT_CODE


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except UsageError as error:
        raise _ToldUsage(str(error)) from None
    except GateError as error:
        raise _Told(str(error)) from None
    except click.UsageError as error:
        raise _ToldUsage(str(_as_ours(error))) from None


def _as_ours(error: click.UsageError) -> UsageError:
    """Return what click found wrong with a command line in our own form; its exit code 2 is pytest's for Ctrl-C."""
    called = error.ctx.command_path if error.ctx is not None else "tokgate"
    found = error.format_message().strip()
    return UsageError(
        tried=f"running {called}",
        found=(found[:1].lower() + found[1:]).removesuffix("."),
        do=f"see {called} --help: it has examples",
    )
