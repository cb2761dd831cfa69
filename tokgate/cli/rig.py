"""`tokgate rig`: the rigs that exist, what they say, what a server is launched with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from tokgate.cli.checkout import pass_root
from tokgate.cli.complete import arms_to_complete, rigs_to_complete
from tokgate.cli.help import Taught, TaughtGroup, teach
from tokgate.cli.rig_check import check
from tokgate.cli.rig_init import init
from tokgate.cli.rig_line import lines_of
from tokgate.cli.rig_options import rig_set
from tokgate.cli.table import table
from tokgate.errors import RigError, UsageError
from tokgate.report import simulated
from tokgate.report.visible import visible
from tokgate.rig.load import load_rig, rig_names
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.nearest import known_names
from tokgate.rig.reference import reference_text
from tokgate.rig.schema import schema_text
from tokgate.rig.spelling import spell
from tokgate.rig.workload import TextPrompts


@click.group(
    "rig",
    cls=TaughtGroup,
    **teach(
        examples=(
            "tokgate rig init mybox",
            "tokgate rig list",
            "tokgate rig show sim-8gpu --arm eagle3-2step",
        ),
        then=("tokgate doctor --rig mybox",),
    ),
)
def rig() -> None:
    """Rig files: which host, GPUs, server, arms, workloads, budgets."""


rig.add_command(init)
rig.add_command(check)


@rig.command(
    "list",
    cls=Taught,
    **teach(examples=("tokgate rig list",), then=("tokgate rig show sim-8gpu", "tokgate rig init mybox")),
)
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
    click.echo(visible(table(("rig", "", "description"), rows)))


@rig.command(
    "show",
    cls=Taught,
    **teach(
        examples=(
            "tokgate rig show kimi-k2.5-8gpu",
            "tokgate rig show kimi-k2.5-8gpu --arm eagle3-2step",
            "tokgate rig show sim-8gpu --arm baseline --rig-set server.args.tp_size=4",
        ),
        then=("tokgate rig check kimi-k2.5-8gpu", "tokgate doctor --rig kimi-k2.5-8gpu"),
    ),
)
@click.argument("name", shell_complete=rigs_to_complete)
@click.option(
    "--arm", "arm_name", shell_complete=arms_to_complete, help="Print the server's shell lines for this arm."
)
@rig_set
@pass_root
def show(root: Path, name: str, arm_name: str | None, overrides: Sequence[str]) -> None:
    """Show a rig, or the lines that start one of its arms."""
    loaded = load_rig(name, root=root, overrides=overrides)
    if loaded.simulated:
        click.echo(visible(simulated.banner(loaded.name)))
    # What a rig says may come from anywhere, and is read before it is trusted.
    click.echo(visible(_overview(loaded) if arm_name is None else lines_of(loaded, _arm(loaded, arm_name))))


@rig.command(
    "schema",
    cls=Taught,
    **teach(examples=("tokgate rig schema > rigs/schema.json",), then=("tokgate rig check",)),
)
def schema() -> None:
    """Print the JSON schema of rig files."""
    click.echo(schema_text(), nl=False)


@rig.command(
    cls=Taught,
    **teach(examples=("tokgate rig reference > docs/rig-reference.md",), then=("tokgate rig schema",)),
)
def reference() -> None:
    """Print what every key of a rig means, as Markdown: docs/rig-reference.md."""
    click.echo(reference_text(), nl=False)


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
    host = f"host {loaded.host.testinfra}"
    if loaded.host.nodes:
        host = f"hosts {', '.join([loaded.host.testinfra, *(node.testinfra for node in loaded.host.nodes)])} for one server"
    head = f"{loaded.name}: {loaded.description}\n{host}, {gpus}, {loaded.server.model_path}"
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
