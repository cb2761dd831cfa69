"""`tokgate baseline`: show what is stored, compare a run with it; baseline_store has what stores."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import click

from tokgate.cli.baseline_store import propose, say_if_simulated, update
from tokgate.cli.checkout import pass_root
from tokgate.cli.complete import rigs_to_complete, runs_to_complete
from tokgate.cli.folding import folded
from tokgate.cli.help import Taught, TaughtGroup, teach
from tokgate.cli.table import table
from tokgate.cli.telling import tell
from tokgate.errors import BaselineError, GateError
from tokgate.records import LaunchEvidence, Outcome, RunEvidence, Verdict
from tokgate.report import simulated
from tokgate.report.run_named import with_run
from tokgate.report.visible import one_line
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.rig.shipped import baselines_home
from tokgate.session.run_folder import load_run
from tokgate.verdicts.arm_restarts import taking
from tokgate.verdicts.baselines.creep import crept
from tokgate.verdicts.baselines.expiry import expired
from tokgate.verdicts.baselines.file import HASH_DIGITS, Absence, BaselineFile
from tokgate.verdicts.baselines.identity import identity_of_launch
from tokgate.verdicts.baselines.load import find, folder_of, load
from tokgate.verdicts.checks.stored_baseline import stored_baseline
from tokgate.verdicts.control_part import Control, controls_of
from tokgate.verdicts.metrics import METRICS, Metric

run_argument = click.argument("run", type=click.Path(path_type=Path), shell_complete=runs_to_complete)


@click.group(
    cls=TaughtGroup,
    **teach(
        examples=(
            "tokgate baseline show sim-8gpu",
            "tokgate baseline diff reports/latest",
            'tokgate baseline update reports/latest --why "first good run of driver 580"',
        ),
        then=("tokgate history mybox",),
    ),
)
def baseline() -> None:
    """Store what good runs measured, and show what a run is compared with.

    baselines/RIG/IDENTITY.json keeps every sample; runs of another identity are never compared with it.
    """


baseline.add_command(update)
baseline.add_command(propose)


@baseline.command(
    cls=Taught,
    **teach(
        examples=("tokgate baseline show sim-8gpu",),
        codes=((0, "shown"), (4, "there is none, or one is corrupt")),
        then=("tokgate baseline diff reports/latest", "tokgate history sim-8gpu"),
    ),
)
@click.argument("rig_name", metavar="RIG", shell_complete=rigs_to_complete)
@pass_root
def show(root: Path, rig_name: str) -> None:
    """Show the baselines stored for RIG; corrupt ones are an error."""
    folder = folder_of(baselines_home(root, rig_name), rig_name)
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise BaselineError(
            tried=f"show the baselines of {rig_name}",
            found=f"no file in {folder.relative_to(root)}",
            do='measure, then store: tokgate baseline update reports/latest --why "…"',
        )
    broken: list[BaselineError] = []
    stored: list[BaselineFile] = []
    for path in paths:
        try:
            stored.append(load(path))
        except BaselineError as error:
            broken.append(error)
    if any(one.simulated for one in stored):
        tell(simulated.banner(rig_name))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    for one in stored:
        old = expired(_rig(root, rig_name), one.provenance.when, now)
        tell(_described(one, old.words if old is not None else None) + "\n")
    for earlier in broken[:-1]:
        click.echo(folded(f"{earlier}\n"), err=True)
    if broken:
        raise broken[-1]


@baseline.command(
    cls=Taught,
    **teach(
        examples=("tokgate baseline diff reports/latest",),
        codes=((0, "shown, whatever it is"), (4, "RUN cannot be read")),
        then=(
            'tokgate baseline update reports/latest --why "driver 580"',
            "tokgate compare reports/A reports/B",
        ),
    ),
)
@run_argument
@pass_root
def diff(root: Path, run: Path) -> None:
    """Show what RUN would be compared with, and the change per metric. Exit code 0 whatever it is."""
    evidence, rig = load_run(run)
    say_if_simulated(rig)
    home = baselines_home(root, rig.name)
    arms: dict[str, list[LaunchEvidence]] = {}
    for launch in evidence.launches:
        if launch.launch.stands_for_arm:
            arms.setdefault(launch.launch.arm, []).append(launch)
    if not arms:
        tell(f"no launch of {one_line(str(run))} stands for an arm: there is nothing to compare")
    for timed in arms.values():
        for workload in rig.workloads:
            launches = taking(timed, workload.name)
            runs = ", ".join(e.launch.id for e in launches)
            try:
                identity = identity_of_launch(rig, launches[0], workload.name, evidence.fingerprint)
            except BaselineError as error:
                tell(f"{runs} {workload.name}: {error.found}\n  do: {with_run(error.do, str(run))}")
                continue
            stored = find(home, rig.name, identity)
            tell(f"{runs} {workload.name}: against {_named(stored)}")
            verdicts = stored_baseline(
                rig,
                launches,
                workload.name,
                stored,
                evidence.fingerprint,
                control=_control(home, rig, launches, workload.name, evidence),
            )
            for verdict in verdicts:
                tell(_line(verdict))
            for line in _beside(verdicts[0], run):
                tell(f"    {one_line(line)}")


def _control(
    root: Path, rig: Rig, arm: Sequence[LaunchEvidence], workload: str, evidence: RunEvidence
) -> Control | None:
    controls = taking(controls_of(evidence.launches, arm), workload)
    if not controls:
        return None
    try:
        identity = identity_of_launch(rig, controls[0], workload, evidence.fingerprint)
    except BaselineError:
        return None  # told where the control itself is compared
    return Control(launches=controls, stored=find(root, rig.name, identity))


def _named(stored: BaselineFile | Absence) -> str:
    if isinstance(stored, BaselineFile):
        return f"{stored.name}, stored {one_line(stored.provenance.when)}: {one_line(stored.provenance.why)}"
    return f"{stored.path}, which is not there"


def _line(verdict: Verdict) -> str:
    return f"  {verdict.outcome.value:<12} {one_line(verdict.headline)}"


def _beside(verdict: Verdict, run: Path) -> list[str]:
    """Settings that differ from the nearest baseline, or facts that differ from this one."""
    lines = [f"{d.key}: {d.before or 'not set'} -> {d.now or 'not set'}" for d in verdict.differs]
    if verdict.outcome in (Outcome.NO_BASELINE, Outcome.INVALID) and verdict.do is not None:
        lines.append(f"do: {with_run(verdict.do, str(run))}")
    return lines


def _rig(root: Path, name: str) -> Rig | None:
    """The rig tells how old its baselines may become; they are shown without it."""
    try:
        return load_rig(name, root=root)
    except GateError:
        return None


def _described(stored: BaselineFile, old: str | None) -> str:
    told = stored.provenance
    head = [
        f"{stored.name}{f' {simulated.WORD}' if stored.simulated else ''}",
        f"  {one_line(stored.workload)} on {one_line(stored.arm)}, {len(stored.launches)} server runs",
        f"  stored {one_line(told.when)} by {one_line(told.who)}: {one_line(told.why)}",
        f"  runs {one_line(', '.join(told.runs))}; {len(stored.history)} earlier versions",
        *(f"  stored despite: {one_line(doubt)}" for doubt in told.despite),
        *((f"  {old}",) if old is not None else ()),
    ]
    if any((told.commit, told.sglang_commit, told.sglang_tree)):
        head.append(
            f"  tokgate {one_line(told.commit or 'unknown')}; SGLang {one_line(told.sglang_commit or 'of no known commit')}, "
            f"{one_line(_tree(told.sglang_tree))}"
        )
    rows = []
    anchors = stored.anchored
    for name, metric in METRICS.items():
        values = [statistics.median(start) for start in stored.by_start(name)]
        if values:
            anchor = anchors.get(name)
            rows.append(
                (
                    f"  {name}",
                    metric.text(statistics.median(values)),
                    metric.bare(min(values)),
                    metric.bare(max(values)),
                    str(len(values)),
                    f"{metric.bare(anchor.value)} of {anchor.when[:10]}" if anchor is not None else "",
                    _crept(stored, metric),
                )
            )
    if stored.phases:
        sources = ", ".join(dict.fromkeys(r.source for one in stored.phases for r in one.readings))
        head.append(f"  phases of {len(stored.phases)} launches with instruments, by {sources}")
    settings = [f"    {one_line(key)} = {one_line(value)}" for key, value in sorted(stored.identity.items())]
    figures = table(("  metric", "median", "least", "most", "n", "anchor", "crept"), rows)
    return "\n".join([*head, figures, f"  identity {stored.identity_hash[:HASH_DIGITS]}:", *settings])


def _tree(told: str | None) -> str:
    return {None: "tree unknown", "no": "clean"}.get(told, f"edits {told}")


def _crept(stored: BaselineFile, metric: Metric) -> str:
    found = crept(stored, metric)
    return f"{found:.1%}" if found is not None else ""
