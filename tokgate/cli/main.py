"""`tokgate`: one module per group of commands."""

from __future__ import annotations

from pathlib import Path

import click

import tokgate
from tokgate.cli.baseline import baseline
from tokgate.cli.checkout import find_checkout
from tokgate.cli.compare import compare
from tokgate.cli.errors import GateGroup
from tokgate.cli.history import history
from tokgate.cli.report import report
from tokgate.cli.rig import rig
from tokgate.cli.selftest import selftest


@click.group(cls=GateGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The checkout that holds rigs/, baselines/ and reports/. Default: the one around the working folder.",
)
@click.version_option(tokgate.__version__, prog_name="tokgate")
@click.pass_context
def main(context: click.Context, root: Path | None) -> None:
    """The performance gate for SGLang servers."""
    context.obj = root.resolve() if root else find_checkout(Path.cwd())


main.add_command(rig)
main.add_command(baseline)
main.add_command(report)
main.add_command(compare)
main.add_command(history)
main.add_command(selftest)
