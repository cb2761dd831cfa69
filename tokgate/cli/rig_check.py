"""`tokgate rig check`: whether a rig is in order, and what NCCL and SGLang would make of it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tokgate.cli.checkout import pass_root
from tokgate.cli.complete import rigs_to_complete
from tokgate.cli.help import Taught, teach
from tokgate.cli.rig_options import rig_set
from tokgate.errors import RigError, UsageError
from tokgate.records.nccl import NcclLint
from tokgate.report import simulated
from tokgate.report.visible import visible
from tokgate.rig.advice import advise
from tokgate.rig.arguments.lint import lint_arguments
from tokgate.rig.load import load_rig, rig_names
from tokgate.rig.models import Rig
from tokgate.rig.nodes import ADDRESS, has_nodes, nodes_of
from tokgate.rig.spelling import spell
from tokgate.server.command_line import rig_line
from tokgate.server.nccl_lint import lint_nccl
from tokgate.session.preamble import describe_instruments
from tokgate.session.sweep_plan import describe_sweep

_WIDTH = 80


@click.command(
    "check",
    cls=Taught,
    **teach(
        examples=(
            "tokgate rig check mybox",
            "tokgate rig check --strict",
            "tokgate rig check mybox --rig-set server.nccl.NCCL_ALGO=Tree",
        ),
        codes=((0, "in order, warnings or not"), (4, "a problem; with --strict a warning, too")),
        then=("tokgate doctor --rig mybox",),
    ),
)
@click.argument("names", nargs=-1, shell_complete=rigs_to_complete)
@click.option("--strict", is_flag=True, help="Exit with 4 where there is a warning, too.")
@rig_set
@pass_root
def check(root: Path, names: Sequence[str], overrides: Sequence[str], strict: bool) -> None:
    """Check rigs, all of them in short when none is named; every problem is listed.

    Below a rig that is named and in order stands what NCCL and SGLang would make of its settings, and what too few starts can't tell:
    warnings say that something will not happen as written, notes are worth knowing. Then follow the launches with
    instruments, the limits that are derived from break-even, and the sweep.
    """
    errors: list[UsageError] = []
    for name in names or rig_names(root):
        try:
            loaded = load_rig(name, root=root, overrides=overrides)
        except RigError as error:
            errors.append(error)
            continue
        for line in check_lines(loaded, called=name, brief=not names):
            click.echo(visible(line))
        if strict and (warnings := counted(_findings(loaded))):
            errors.append(_too_many(name, warnings))
    if not names:
        click.echo("tokgate rig check NAME: its notes, launches with instruments and derived limits")
    for earlier in errors[:-1]:
        click.echo(f"{earlier}\n", err=True)
    if errors:
        raise errors[-1]


def check_lines(loaded: Rig, *, called: str | None = None, brief: bool = False) -> Iterator[str]:
    """Yield what there is to say of a rig that could be loaded; `brief`: its warnings, and how many notes."""
    findings = _findings(loaded)
    warnings = counted(findings)
    label = f", {simulated.WORD}" if loaded.simulated else ""
    notes = sum(f.severity == "note" for f in findings)
    more = f", {notes} note{'s' if notes > 1 else ''}" if brief and notes else ""
    yield f"{called or loaded.name}: {f'in order, {warnings}' if warnings else 'ok'}{more}{label}"
    for finding in findings:
        if not brief or finding.severity != "note":
            yield told(finding)
    if brief:
        return
    for words in (*describe_instruments(loaded), *describe_sweep(loaded)):
        yield filled(words, indent=2)
    for node in nodes_of(loaded) if has_nodes(loaded) else ():
        shown = node.launched(loaded.server.dist_init_addr or ADDRESS)
        yield filled(f"{node.words}, {node.rig.host.testinfra}, starts the control arm so:", indent=2)
        yield f"      {rig_line(shown, loaded.control)}"


def counted(findings: Sequence[NcclLint]) -> str:
    warnings = sum(f.severity != "note" for f in findings)
    return f"{warnings} warning{'s' if warnings > 1 else ''}" if warnings else ""


def told(finding: NcclLint) -> str:
    value = "" if finding.value is None else f" = {spell(finding.value)}"
    head = filled(f"{finding.severity}: {finding.variable}{value}: {finding.what}", indent=2)
    return "\n".join((head, filled(f"do: {finding.do}", indent=6), filled(f"({finding.source})", indent=6)))


def filled(text: str, *, indent: int = 0) -> str:
    margin = " " * indent
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _findings(loaded: Rig) -> list[NcclLint]:
    return sorted(
        (*lint_nccl(loaded), *lint_arguments(loaded), *advise(loaded)), key=lambda f: f.severity == "note"
    )


def _too_many(name: str, warnings: str) -> UsageError:
    return UsageError(
        tried=f"check the rig {spell(name)} strictly",
        found=f"{warnings}, listed above",
        do="mend what they name, or leave out --strict",
    )
