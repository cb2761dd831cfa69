"""`tokgate`: one module per group of commands, in the order of a first hour."""

from __future__ import annotations

from pathlib import Path

import click

import tokgate
from tokgate.cli.checkout import find_checkout
from tokgate.cli.overview import Overview


@click.group(
    cls=Overview,
    context_settings={"help_option_names": ["-h", "--help"]},
    examples=(
        "tokgate sim run healthy",
        "tokgate rig init mybox",
        "tokgate --root ../serving rig list",
    ),
    codes=(
        (0, "done; of a judged run: every promise holds"),
        (4, "the command line or a file is not in order; the error says what to do"),
        (10, "inconclusive: the run could not see enough"),
        (11, "invalid: the bench, not the code, is at fault; a host cannot be reached"),
        (12, "no-baseline: nothing stored to compare with"),
        (13, "regressed: slower than allowed, established"),
    ),
    then=("tokgate sim list", "tokgate sim run healthy"),
)
@click.option(
    "--root",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The repository that holds rigs/, baselines/ and reports/. Default: the one around the working folder.",
)
@click.version_option(tokgate.__version__, prog_name="tokgate")
@click.pass_context
def main(context: click.Context, root: Path | None) -> None:
    """The performance gate for SGLang servers with EAGLE-3.

    It answers one question about a server: did this change make it slower, and why?
    """
    context.obj = root.resolve() if root else find_checkout(Path.cwd())
