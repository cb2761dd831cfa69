"""`tokgate baseline`: store what a run measured, show what is stored, compare a run with it."""

from __future__ import annotations

import getpass
import statistics
from datetime import UTC, datetime
from pathlib import Path

import click

from tokgate.cli.checkout import pass_root
from tokgate.cli.judged import judged
from tokgate.cli.table import table
from tokgate.cli.telling import tell
from tokgate.errors import BaselineError
from tokgate.records import LaunchEvidence, Outcome, RunEvidence, Verdict
from tokgate.report import simulated
from tokgate.report.visible import one_line
from tokgate.rig.load import load_rig, rig_names
from tokgate.rig.models import Rig
from tokgate.session.run_folder import load_run
from tokgate.verdicts.baseline_file import (
    HASH_DIGITS,
    Absence,
    BaselineFile,
    Provenance,
    find,
    folder_of,
    load,
    refuse_mixture,
)
from tokgate.verdicts.baseline_save import save_all
from tokgate.verdicts.baseline_update import drafts
from tokgate.verdicts.checks.stored_baseline import stored_baseline
from tokgate.verdicts.control_part import Control, control_before
from tokgate.verdicts.identity import identity_of_launch
from tokgate.verdicts.metrics import METRICS

run_argument = click.argument("run", type=click.Path(path_type=Path))


@click.group()
def baseline() -> None:
    """Stored baselines: baselines/<rig>/<identity>.json, every sample kept."""


@baseline.command()
@run_argument
@click.option("--why", required=True, help="The reason, for whoever reads it in a year.")
@click.option("--arm", help="Only this arm; all arms of the run by default.")
@click.option(
    "--append", is_flag=True, help="Add the run's launches to those stored, rather than replace them."
)
@click.option(
    "--despite-doubts",
    is_flag=True,
    help="Store a run that ended regressed, drifted or was unsteady all the same.",
)
@click.option(
    "--portable",
    is_flag=True,
    help="Leave out what is known of the machine: for a baseline that travels with the checkout.",
)
@click.option("--who", default=getpass.getuser, help="Who decides this; your login name by default.")
@pass_root
def update(
    root: Path,
    *,
    run: Path,
    why: str,
    arm: str | None,
    append: bool,
    despite_doubts: bool,
    portable: bool,
    who: str,
) -> None:
    """Store what RUN (a folder below reports/) measured; refused when the run is invalid.

    A run that ended regressed is stored with --despite-doubts alone. All files are written before the first line.
    """
    if not why.strip():
        raise BaselineError(
            tried="store a baseline without a reason",
            found="--why is empty",
            do='say why these numbers are right: --why "new driver, checked against …"',
        )
    evidence, rig = load_run(run)
    _say_if_simulated(rig)
    _refuse_another_kind(root, rig)
    provenance = Provenance(
        who=who,
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        why=why,
        runs=(evidence.info.run_id,),
        commit=evidence.info.tokgate_commit,
    )
    concluded = judged(run)
    found = drafts(
        rig,
        evidence,
        lambda identity: find(root, rig.name, identity),
        provenance=provenance,
        judged=concluded,
        arm=arm,
        append=append,
        despite_doubts=despite_doubts,
        portable=portable,
    )
    # All of them are drawn up before any is written, and written before any is told: nothing is left half done.
    paths = save_all(root, [draft.new for draft in found])
    for draft, path in zip(found, paths, strict=True):
        word = "replaced" if draft.old is not None and not append else "extended" if draft.old else "new"
        tell(f"{draft.new.workload} on {draft.new.arm}: {path.relative_to(root)} ({word})")
        for line in draft.changes():
            tell(f"  {line}")
        if draft.phases is not None:
            tell(f"  {one_line(draft.phases)}")
    for doubt in found[0].doubts:
        tell(f"doubt: {one_line(doubt)}")


@baseline.command()
@click.argument("rig_name", metavar="RIG")
@pass_root
def show(root: Path, rig_name: str) -> None:
    """Show the baselines stored for RIG; corrupt ones are an error."""
    folder = folder_of(root, rig_name)
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise BaselineError(
            tried=f"show the baselines of {rig_name}",
            found=f"no file in {folder.relative_to(root)}",
            do='measure, then store: tokgate baseline update RUN --why "…"',
        )
    broken: list[BaselineError] = []
    stored: list[BaselineFile] = []
    for path in paths:
        try:
            stored.append(load(path))
        except BaselineError as error:
            broken.append(error)
    if any(one.simulated for one in stored):
        click.echo(simulated.banner(rig_name))
    for one in stored:
        click.echo(_described(one) + "\n")
    for earlier in broken[:-1]:
        click.echo(f"{earlier}\n", err=True)
    if broken:
        raise broken[-1]


@baseline.command()
@run_argument
@pass_root
def diff(root: Path, run: Path) -> None:
    """Show what RUN would be compared with, and the change per metric. Exit code 0 whatever it is."""
    evidence, rig = load_run(run)
    _say_if_simulated(rig)
    compared = [e for e in evidence.launches if e.launch.stands_for_arm]
    if not compared:
        click.echo(f"no launch of {one_line(str(run))} stands for an arm: there is nothing to compare")
    for launch in compared:
        for workload in rig.workloads:
            try:
                identity = identity_of_launch(rig, launch, workload.name, evidence.fingerprint)
            except BaselineError as error:
                click.echo(f"{launch.launch.id} {workload.name}: {error.found}\n  do: {error.do}")
                continue
            stored = find(root, rig.name, identity)
            click.echo(f"{launch.launch.id} {workload.name}: against {_named(stored)}")
            control = _control(root, rig, launch, workload.name, evidence)
            verdicts = stored_baseline(
                rig, launch, workload.name, stored, evidence.fingerprint, control=control
            )
            for verdict in verdicts:
                click.echo(_line(verdict))
            for line in _beside(verdicts[0]):
                click.echo(f"    {one_line(line)}")


def _control(
    root: Path, rig: Rig, launch: LaunchEvidence, workload: str, evidence: RunEvidence
) -> Control | None:
    control = control_before(evidence.launches, launch)
    if control is None:
        return None
    try:
        identity = identity_of_launch(rig, control, workload, evidence.fingerprint)
    except BaselineError:
        return None  # told where the control itself is compared
    return Control(launch=control, stored=find(root, rig.name, identity))


def _say_if_simulated(rig: Rig) -> None:
    if rig.simulated:
        tell(simulated.banner(rig.name))


def _refuse_another_kind(root: Path, rig: Rig) -> None:
    """A run's rig may have been overridden: its folder belongs to the rig of that name in this checkout."""
    if rig.name in rig_names(root) and load_rig(rig.name, root=root).simulated != rig.simulated:
        raise BaselineError(
            tried=f"store a run of {rig.name} in baselines/{rig.name}",
            found=f"the run says simulated = {str(rig.simulated).lower()}, rigs/{rig.name}.toml says otherwise",
            do="give the simulated machine a rig of its own name",
        )
    refuse_mixture(root, rig.name, simulated=rig.simulated)


def _named(stored: BaselineFile | Absence) -> str:
    if isinstance(stored, BaselineFile):
        return f"{stored.name}, stored {one_line(stored.provenance.when)}: {one_line(stored.provenance.why)}"
    return f"{stored.path}, which is not there"


def _line(verdict: Verdict) -> str:
    return f"  {verdict.outcome.value:<12} {one_line(verdict.headline)}"


def _beside(verdict: Verdict) -> list[str]:
    """Settings that differ from the nearest baseline, or facts that differ from this one."""
    lines = [f"{d.key}: {d.before or 'not set'} -> {d.now or 'not set'}" for d in verdict.differs]
    if verdict.outcome in (Outcome.NO_BASELINE, Outcome.INVALID) and verdict.do is not None:
        lines.append(f"do: {verdict.do}")
    return lines


def _described(stored: BaselineFile) -> str:
    told = stored.provenance
    head = [
        f"{stored.name}{f' {simulated.WORD}' if stored.simulated else ''}",
        f"  {one_line(stored.workload)} on {one_line(stored.arm)}, {len(stored.launches)} server runs",
        f"  stored {one_line(told.when)} by {one_line(told.who)}: {one_line(told.why)}",
        f"  runs {one_line(', '.join(told.runs))}; {len(stored.history)} earlier versions",
    ]
    rows = []
    for name, metric in METRICS.items():
        values = [statistics.median(start) for start in stored.by_start(name)]
        if values:
            rows.append(
                (
                    f"  {name}",
                    metric.text(statistics.median(values)),
                    metric.bare(min(values)),
                    metric.bare(max(values)),
                    str(len(values)),
                )
            )
    if stored.phases:
        sources = ", ".join(dict.fromkeys(r.source for one in stored.phases for r in one.readings))
        head.append(f"  phases of {len(stored.phases)} launches with instruments, by {sources}")
    settings = [f"    {one_line(key)} = {one_line(value)}" for key, value in sorted(stored.identity.items())]
    figures = table(("  metric", "median", "least", "most", "n"), rows)
    return "\n".join([*head, figures, f"  identity {stored.identity_hash[:HASH_DIGITS]}:", *settings])
