"""What `tokgate baseline update` and `propose` both are asked."""

from __future__ import annotations

import getpass
from collections.abc import Callable
from pathlib import Path

import click

from tokgate.cli.checkout import pass_root
from tokgate.cli.complete import runs_to_complete

_OPTIONS = (
    click.argument(
        "runs",
        nargs=-1,
        required=True,
        metavar="RUN...",
        type=click.Path(path_type=Path),
        shell_complete=runs_to_complete,
    ),
    click.option("--why", required=True, help="The reason, for whoever reads it in a year."),
    click.option("--arm", help="Only this arm; all arms of the runs by default."),
    click.option(
        "--append", is_flag=True, help="Add the runs' launches to those stored, rather than replace them."
    ),
    click.option(
        "--replace",
        is_flag=True,
        help="Put the runs in place of what is stored even where these are fewer sessions.",
    ),
    click.option(
        "--despite-doubts",
        is_flag=True,
        help="Store runs that ended regressed, drifted or were unsteady, or a raised number on little evidence, all the same.",
    ),
    click.option(
        "--despite-creep",
        metavar="REASON",
        help="Accept losses that add up beyond the creep budget of the rig, and say why.",
    ),
    click.option(
        "--portable",
        is_flag=True,
        help="Leave out what is known of the machine: for a baseline that travels with the checkout.",
    ),
    click.option("--who", default=getpass.getuser, help="Who decides this; your login name by default."),
    pass_root,
)


def storing(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
