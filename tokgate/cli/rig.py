"""`tokgate rig`: the rigs that exist, what they say, what a server is launched with."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path

import click

from tokgate.cli.checkout import pass_root
from tokgate.cli.table import table
from tokgate.errors import RigError, UsageError
from tokgate.records.nccl import NcclLint
from tokgate.report import simulated
from tokgate.rig.advice import advise
from tokgate.rig.arguments.lint import lint_arguments
from tokgate.rig.load import load_rig, rig_names
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.nearest import known_names
from tokgate.rig.schema import schema_text
from tokgate.rig.spelling import spell
from tokgate.rig.workload import TextPrompts
from tokgate.server.command_line import MASK, launch_line, rig_line
from tokgate.server.nccl_lint import lint_nccl
from tokgate.session.preamble import describe_instruments, describe_line_with_instruments
from tokgate.session.sweep_plan import describe_sweep

_WIDTH = 80

rig_set = click.option(
    "--rig-set",
    "overrides",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change one value, such as server.args.tp_size=4 or arms.eagle3-2step.num_steps=3. May be repeated.",
)


@click.group()
def rig() -> None:
    """Rig files: which host, GPUs, server, arms, workloads, budgets."""


@rig.command("list")
@pass_root
def list_rigs(root: Path) -> None:
    """List the rigs of this checkout; broken ones say so."""
    rows = []
    for name in rig_names(root):
        try:
            loaded = load_rig(name, root=root)
        except RigError as error:
            rows.append((name, "broken", error.found.splitlines()[0]))
        else:
            rows.append(
                (
                    name,
                    simulated.WORD if loaded.simulated else f"{loaded.gpus.count} GPUs",
                    loaded.description,
                )
            )
    click.echo(table(("rig", "", "description"), rows))


@rig.command()
@click.argument("name")
@click.option("--arm", "arm_name", help="Print the server's shell lines for this arm.")
@rig_set
@pass_root
def show(root: Path, name: str, arm_name: str | None, overrides: Sequence[str]) -> None:
    """Show a rig, or the lines that start one of its arms."""
    loaded = load_rig(name, root=root, overrides=overrides)
    if loaded.simulated:
        click.echo(simulated.banner(loaded.name))
    if arm_name is None:
        click.echo(_overview(loaded))
    else:
        click.echo(_lines(loaded, _arm(loaded, arm_name)))


@rig.command()
@click.argument("names", nargs=-1)
@click.option("--strict", is_flag=True, help="Exit with 4 where there is a warning, too.")
@rig_set
@pass_root
def check(root: Path, names: Sequence[str], overrides: Sequence[str], strict: bool) -> None:
    """Check rigs, all of them when none is named; every problem is listed.

    Below a rig in order stands what NCCL and SGLang would make of its settings, and what too few starts can't tell:
    warnings say that something will not happen as written, notes are worth knowing. Then follow the launches with
    instruments, the limits that are derived from break-even, and the sweep.
    """
    errors: list[UsageError] = []
    for name in names or rig_names(root):
        try:
            loaded = load_rig(name, root=root, overrides=overrides)
        except RigError as error:
            errors.append(error)
        else:
            findings = sorted(
                (*lint_nccl(loaded), *lint_arguments(loaded), *advise(loaded)),
                key=lambda f: f.severity == "note",
            )
            warnings = _counted(findings)
            label = f", {simulated.WORD}" if loaded.simulated else ""
            click.echo(f"{name}: {f'in order, {warnings}' if warnings else 'ok'}{label}")
            for finding in findings:
                click.echo(_told(finding))
            for words in (*describe_instruments(loaded), *describe_sweep(loaded)):
                click.echo(_wrapped(words, indent=2))
            if warnings and strict:
                errors.append(_too_many(name, warnings))
    for earlier in errors[:-1]:
        click.echo(f"{earlier}\n", err=True)
    if errors:
        raise errors[-1]


@rig.command()
def schema() -> None:
    """Print the JSON schema of rig files."""
    click.echo(schema_text(), nl=False)


def _arm(loaded: Rig, name: str) -> ArmSpec:
    names = [a.name for a in loaded.arms]
    if name not in names:
        raise UsageError(
            tried=f"show the arm {spell(name)} of the rig {loaded.name}",
            found=f"no such arm; {known_names(name, names)}",
            do=f"use one of: {', '.join(names)}",
        )
    return loaded.arm(name)


def _overview(loaded: Rig) -> str:
    arms = [
        (
            a.name,
            a.kind,
            *("" if v is None else str(v) for v in (a.num_steps, a.topk, a.num_draft_tokens)),
            "" if a.kind == "baseline" else str(a.acceptance),
        )
        for a in loaded.arms
    ]
    workloads = [
        (
            w.name,
            w.endpoint,
            _prompts(loaded, w.prompts),
            *map(str, (w.concurrency, w.output_tokens, w.repeats, w.warmup)),
        )
        for w in loaded.workloads
    ]
    limits = [(b.metric, b.arm, b.workload, b.words) for b in loaded.budgets]
    limits += [("speed-up", t.arm, t.workload, f"at least {t.at_least:g}") for t in loaded.twins]
    gpus = f"{loaded.gpus.count} GPUs" + (f" ({loaded.gpus.model})" if loaded.gpus.model else "")
    head = f"{loaded.name}: {loaded.description}\nhost {loaded.host.testinfra}, {gpus}, {loaded.server.model_path}"
    return "\n\n".join(
        (
            head,
            table(("arm", "kind", "steps", "topk", "draft tokens", "acceptance"), arms),
            table(("workload", "endpoint", "prompts", "at once", "tokens", "repeats", "warm-up"), workloads),
            table(("budget", "arm", "workload", "limit"), limits),
            f"`tokgate rig show {loaded.name} --arm {loaded.arms[0].name}` prints the server's shell lines.",
        )
    )


def _prompts(loaded: Rig, name: str) -> str:
    prompts = loaded.prompt_sets[name]
    return f"{name} (text)" if isinstance(prompts, TextPrompts) else f"{name} ({prompts.length} ids)"


def _lines(loaded: Rig, arm: ArmSpec) -> str:
    launched = launch_line(
        loaded,
        arm,
        port="PORT",
        api_key=MASK if loaded.server.api_key == "random" else None,
        mark="MARK",
        log="LOG",
        pass_environment={},
    )
    parts = [
        "(i) the rig's own line",
        rig_line(loaded, arm),
        "(ii) as launched, by sh -c",
        launched.line.shown,
    ]
    changes = ["What the gate changes, and why:"]
    for addition in launched.line.additions:
        changes += [_wrapped(addition.what, indent=2), _wrapped(addition.reason, indent=6)]
    parts.append("\n".join(changes))
    passed = ", ".join(loaded.server.pass_environment) or "nothing"
    parts += [_wrapped(words) for words in describe_line_with_instruments(loaded, arm.name)]
    closed = f"The environment is closed: besides the variables above the server gets, from the host, only {passed}."
    parts.append(_wrapped(closed))
    return "\n\n".join(parts)


def _counted(findings: Sequence[NcclLint]) -> str:
    warnings = sum(f.severity != "note" for f in findings)
    return f"{warnings} warning{'s' if warnings > 1 else ''}" if warnings else ""


def _too_many(name: str, warnings: str) -> UsageError:
    return UsageError(
        tried=f"check the rig {spell(name)} strictly",
        found=f"{warnings}, listed above",
        do="mend what they name, or leave out --strict",
    )


def _told(finding: NcclLint) -> str:
    value = "" if finding.value is None else f" = {spell(finding.value)}"
    head = _wrapped(f"{finding.severity}: {finding.variable}{value}: {finding.what}", indent=2)
    return "\n".join(
        (head, _wrapped(f"do: {finding.do}", indent=6), _wrapped(f"({finding.source})", indent=6))
    )


def _wrapped(text: str, *, indent: int = 0) -> str:
    margin = " " * indent
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=margin,
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )
