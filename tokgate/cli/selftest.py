"""`tokgate selftest`: what this host's gate is known to see."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from tokgate.cli.checkout import pass_root
from tokgate.cli.complete import arms_to_complete, rigs_to_complete
from tokgate.cli.help import Taught, teach
from tokgate.cli.rig_options import rig_set
from tokgate.cli.selftest_result import result
from tokgate.cli.telling import tell
from tokgate.cli.terminated import terminated
from tokgate.errors import UsageError
from tokgate.records import EXIT_CODES, Outcome
from tokgate.records.selftest import SelfTest
from tokgate.report import simulated
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.rig.nodes import has_nodes
from tokgate.rig.shipped import is_checkout, shipped_root
from tokgate.session.commit import commit_of
from tokgate.session.selftest import SelfTesting
from tokgate.session.selftest_plan import Asked, check, describe, too_little
from tokgate.stats.bounds import MODES, by_modes, runs_to_confirm
from tokgate.verdicts.metrics import METRICS, floor_of
from tokgate.verdicts.selftest_file import FOLDER, percent, settings_of, stored_selftests

INTERRUPTED = 2  # pytest's own code for it
MOST_STORED = 4  # with as many again they confirm a loss


@click.command(
    cls=Taught,
    **teach(
        examples=(
            "tokgate selftest --rig mybox --dry-run",
            "tokgate selftest --rig mybox --budget 3600",
            "tokgate selftest --rig mybox --show",
        ),
        codes=((0, "done"), (10, "broken off early; what there is is kept"), (11, "nothing can be measured")),
        then=("pytest perf_tests -m eagle3 --rig mybox",),
    ),
)
@click.option(
    "--rig",
    "name",
    required=True,
    metavar="NAME",
    shell_complete=rigs_to_complete,
    help="The rig whose host is tested.",
)
@click.option(
    "--arm",
    shell_complete=arms_to_complete,
    help="The arm to launch. Default: the first one with EAGLE-3, else the control arm.",
)
@click.option("--workload", "workloads", multiple=True, help="May be repeated. Default: the rig's first one.")
@click.option("--restarts", default=8, show_default=True, help="Server runs, those of the baseline counted.")
@click.option(
    "--baseline-runs", type=int, help="How many of them stand for the baseline. Default: half, 4 at most."
)
@click.option(
    "--session-runs",
    type=int,
    help="How many of the others a session has. Default: as many as confirm a loss.",
)
@click.option(
    "--plant",
    default="0.05,0.10,0.20",
    show_default=True,
    metavar="LOSS,…",
    help="Losses of throughput to plant, as shares.",
)
@click.option("--repeats", type=int, help="Barrier starts of each block. Default: the workload's own.")
@click.option("--budget", type=float, metavar="SECONDS", help="Begin nothing that would end later.")
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    help=f"Keep the result in {FOLDER}/ of this folder instead of the checkout's.",
)
@click.option(
    "--report-dir", type=click.Path(path_type=Path), help="Where what is raw goes. Default: reports/."
)
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--show", is_flag=True, help="Print what is stored of this rig, and measure nothing.")
@rig_set
@pass_root
def selftest(
    root: Path,
    *,
    name: str,
    arm: str | None,
    workloads: Sequence[str],
    restarts: int,
    baseline_runs: int | None,
    session_runs: int | None,
    plant: str,
    repeats: int | None,
    budget: float | None,
    store: Path | None,
    report_dir: Path | None,
    dry_run: bool,
    show: bool,
    overrides: Sequence[str],
) -> None:
    """Measure, on this rig's own host, how often the gate alarms over nothing and which planted losses it sees.

    An arm is started several times; slowdowns are switched on and off while it runs. What comes out is stored as
    selftests/RIG/….json, and reports say it beside their verdicts. Ends with 0, with 10 where it broke off early (what there
    is is kept), with 11 where nothing can be measured or planted here.
    """
    rig = load_rig(name, root=root, overrides=overrides)
    if has_nodes(rig):
        raise UsageError(
            tried=f"measuring what a gate on the rig {rig.name} can see",
            found=f"one server over {rig.server.nodes} hosts, and the plant is laid out on one",
            do="run the self-test on a rig of one of the hosts; the gate itself does without",
        )
    place = store or root
    if rig.simulated:
        tell(simulated.banner(rig.name))
    before = stored_selftests(place, rig.name)
    if show:
        _show(rig, [one for _, one in before])
        return
    stored_runs = min(restarts // 2, MOST_STORED) if baseline_runs is None else baseline_runs
    asked = Asked(
        arm=arm or next((a.name for a in rig.arms if a.kind == "eagle3"), rig.control.name),
        workloads=tuple(workloads) or (rig.workloads[0].name,),
        levels=_levels(plant),
        restarts=restarts,
        baseline_runs=stored_runs,
        session_runs=_session_runs(restarts - stored_runs, stored_runs)
        if session_runs is None
        else session_runs,
        repeats=repeats,
        budget_s=budget,
    )
    check(rig, asked)
    known = next((one.seconds_a_run for _, one in before if _alike(one, asked)), None)
    _refuse_too_little(rig, asked, [one for _, one in before])
    for line in describe(rig, asked, known):
        tell(line)
    for line in _never(rig, asked):
        tell(line)
    if dry_run:
        return
    name = f"{dt.datetime.now(dt.UTC):%Y%m%dT%H%M%S}-{rig.name}-selftest"
    folder = (report_dir or root / "reports").resolve() / name
    testing = SelfTesting(
        rig,
        asked,
        name=name,
        folder=folder,
        root=root,
        store=place,
        commit=commit_of(shipped_root()) if is_checkout() else None,
        say=tell,
    )
    file = place / FOLDER / rig.name / f"{name}.json"
    try:
        with terminated():
            found = testing.run()
    except KeyboardInterrupt:
        kept = f"what was measured is kept in {file}" if file.is_file() else "nothing was measured yet"
        tell(f"interrupted: {kept}")
        raise SystemExit(INTERRUPTED) from None
    for line in result(found):
        tell(line)
    tell(f"stored: {file}; raw: {folder}")
    if not found.complete:
        raise SystemExit(EXIT_CODES[Outcome.INCONCLUSIVE])


def _refuse_too_little(rig: Rig, asked: Asked, before: Sequence[SelfTest]) -> None:
    """UsageError where an earlier self-test of the same work tells that the budget compares nothing."""
    seconds = next((one.seconds_a_run for one in before if _same_work(rig, one, asked)), None)
    if seconds is None or asked.budget_s is None:
        return
    found = too_little(asked, done=0, seconds_a_run=seconds, left_s=asked.budget_s)
    if found is not None:
        raise UsageError(tried="planning a self-test", found=f"as the one before: {found.found}", do=found.do)


def _show(rig: Rig, stored: Sequence[SelfTest]) -> None:
    if not stored:
        tell(f"no self-test of {rig.name} is stored: tokgate selftest --rig {rig.name}")
    for one in stored:
        for line in result(one):
            tell(line)


def _never(rig: Rig, asked: Asked) -> Iterator[str]:
    """Yield why some of the losses will not be called, whatever is measured."""
    if by_modes(asked.baseline_runs, asked.session_runs) > MODES:
        yield (
            f"note: server runs, {asked.session_runs} against {asked.baseline_runs}, confirm no loss, since two modes of a server "
            "may show as much by chance: none will be called; --restarts 8 is the fewest that can"
        )
    floor = floor_of(rig, METRICS["decode_tok_s"]).relative
    below = [percent(level) for level in asked.levels if level <= floor]
    if below:
        yield (
            f"note: the rig calls no loss of up to {percent(floor)} (floors.decode_tok_s): {', '.join(below)} "
            "will not be called, however well it is seen"
        )


def _session_runs(later: int, stored: int) -> int:
    return max(1, min(later, runs_to_confirm(max(1, stored)) or later))  # fewer than one is refused later


def _levels(text: str) -> tuple[float, ...]:
    try:
        return tuple(sorted({float(part) for part in text.split(",") if part.strip()}))
    except ValueError:
        raise UsageError(
            tried="reading --plant",
            found=repr(text),
            do="write shares with commas between: --plant 0.05,0.10",
        ) from None


def _alike(one: SelfTest, asked: Asked) -> bool:
    return one.arm == asked.arm and one.workloads == asked.workloads and len(one.levels) == len(asked.levels)


def _same_work(rig: Rig, one: SelfTest, asked: Asked) -> bool:
    """Say whether its server runs did what those asked for will do, so that they take as long."""
    now = settings_of(rig)
    parts = ("server", "arms", "prompt_sets", "workloads")
    starts = {len(v) for run in one.launches for b in run.blocks for v in b.values.values()}
    wanted = {asked.repeats or rig.workload(name).repeats for name in asked.workloads}
    return (
        _alike(one, asked) and starts == wanted and all(one.settings.get(part) == now[part] for part in parts)
    )
