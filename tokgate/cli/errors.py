"""Errors at the command line: their text on stderr, an exit code of their own, no traceback."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any, NoReturn

import click

from tokgate.cli.folding import folded
from tokgate.cli.help import TaughtGroup
from tokgate.cli.start import INTERRUPTED
from tokgate.errors import BenchFault, GateError, UsageError
from tokgate.records.verdict import EXIT_CODES, Outcome
from tokgate.report.visible import one_line

USAGE_EXIT_CODE = 4  # pytest's own code for a usage error


class GateGroup(TaughtGroup):
    """The outermost group: turns every error into tried, found, do, and an exit code."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        _print_whatever_it_is()
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
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except OSError as error:
        if error.errno == errno.EPIPE:
            _nobody_reads()
        raise _Told(str(_as_fault(error))) from None


def _nobody_reads() -> NoReturn:
    """End as a program that SIGPIPE ends, for a shell: `| head -3` is no fault."""
    # What lies unwritten in the stream is tried again at the end of the process: give it somewhere to go.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    raise SystemExit(128 + signal.SIGPIPE)


def _print_whatever_it_is() -> None:
    """Let a terminal of another encoding than UTF-8 get escapes for what it has no character for, and no traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def _as_fault(error: OSError) -> BenchFault:
    """Return what this machine refused, a full disk say, where no command says it better."""
    file = f"{error.filename}: " if error.filename is not None else ""
    return BenchFault(
        tried="reading or writing on this machine",
        found=one_line(f"{file}{error.strerror or error}", 600),
        do="make room there, or correct who may read and write it; what was being written may be incomplete",
    )


def _as_ours(error: click.UsageError) -> UsageError:
    """Return what click found wrong with a command line in our own form; its exit code 2 is pytest's for Ctrl-C."""
    called = error.ctx.command_path if error.ctx is not None else "tokgate"
    found = error.format_message().strip()
    return UsageError(
        tried=f"running {called}",
        found=(found[:1].lower() + found[1:]).removesuffix("."),
        do=f"see {called} --help: it has examples",
    )
