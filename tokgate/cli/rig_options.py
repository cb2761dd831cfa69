"""The option that every command with a rig has."""

from __future__ import annotations

import click

rig_set = click.option(
    "--rig-set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change one value, such as server.args.tp_size=4 or arms.eagle3-2step.num_steps=3. May be repeated.",
)
