"""Printing by commands that have more to do than to print."""

from __future__ import annotations

import errno
import os
import sys

import click

from .folding import folded


def tell_as_it_is(line: str) -> None:
    """Print what a program reads, as `tell` does, and fold nothing."""
    _print(line)


def tell(line: str) -> None:
    """Print a line, folded to the terminal. A reader that has gone away, `| head -3` or a closed terminal, ends nothing: the rest goes nowhere."""
    _print(folded(line))


def _print(line: str) -> None:
    try:
        click.echo(line)
    except OSError as error:
        if error.errno not in (errno.EPIPE, errno.EIO):
            raise
        # What lies unwritten in the stream is tried again at the end of the process: give it somewhere to go.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
