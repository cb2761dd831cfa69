"""Printing by commands that have more to do than to print."""

from __future__ import annotations

import os
import sys

import click


def tell(line: str) -> None:
    """Print a line. A reader that has gone away, `| head -3`, ends nothing: the rest of it goes nowhere."""
    try:
        click.echo(line)
    except BrokenPipeError:
        # What lies unwritten in the stream is tried again at the end of the process: give it somewhere to go.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
