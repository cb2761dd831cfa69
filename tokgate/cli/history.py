"""`tokgate history RIG`: what the sessions of a rig measured, and where a number changed its level for good."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from tokgate.cli.checkout import pass_root
from tokgate.cli.complete import rigs_to_complete
from tokgate.cli.help import Taught, teach
from tokgate.cli.table import table
from tokgate.cli.telling import tell
from tokgate.errors import GateError, UsageError
from tokgate.report import simulated
from tokgate.report.visible import one_line
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.session.history_file import history_path, read
from tokgate.verdicts.baselines.history import (
    LATEST,
    Entry,
    Session,
    Standing,
    points,
    sessions_of,
    standings,
)
from tokgate.verdicts.baselines.load import folder_of
from tokgate.verdicts.metrics import METRICS, Metric

_DEFAULT = ("decode_tok_s", "cycle_ms", "accept_length")


@click.command(
    cls=Taught,
    **teach(
        examples=(
            "tokgate history sim-8gpu",
            "tokgate history mybox --arm eagle3-2step --metric verify_ms --last 50",
        ),
        codes=((0, "shown, whatever is found"), (4, "there is no history of that rig")),
        then=("tokgate compare reports/A reports/B",),
    ),
)
@click.argument("rig_name", metavar="RIG", shell_complete=rigs_to_complete)
@click.option(
    "--metric",
    "metrics",
    multiple=True,
    help="A metric, or `all`; may be repeated. The main ones by default.",
)
@click.option("--arm", help="Only this arm.")
@click.option("--workload", help="Only this workload.")
@click.option(
    "--last",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help=f"Sessions that are printed; change points are of the latest {LATEST}.",
)
@click.option(
    "--file",
    type=click.Path(path_type=Path),
    help="Another history than reports/history/RIG.jsonl of the checkout.",
)
@pass_root
def history(
    root: Path,
    *,
    rig_name: str,
    metrics: tuple[str, ...],
    arm: str | None,
    workload: str | None,
    last: int,
    file: Path | None,
) -> None:
    """Show what RIG's sessions measured, one line a session, and since when each number has stood where it stands.

    Every gate session adds a line at its end. Numbers are compared within one identity alone. Damaged lines are named on
    stderr and skipped. Exit code 0 whatever is found, 4 without a history.
    """
    chosen = _metrics(metrics)
    path = (
        file if file is not None else history_path(folder_of(root, rig_name).parents[1] / "reports", rig_name)
    )
    try:
        found = read(path)
    except OSError as error:
        raise UsageError(
            tried=f"read the history {path}",
            found=error.strerror or str(error),
            do="name another one: --file PATH",
        ) from error
    for line in found.damaged:
        click.echo(f"skipped {one_line(line)}", err=True)
    mine = [entry for entry in found.entries if entry.rig == rig_name]
    if not mine:
        raise UsageError(
            tried=f"show the history of {rig_name}",
            found=f"no session of it in {path}",
            do="run the gate: each session adds a line; or name a file: --file PATH",
        )
    if any(entry.simulated for entry in mine):
        tell(simulated.banner(rig_name))
    rig = _rig(root, rig_name)
    printed = False
    for key in _series(mine, arm, workload):
        sessions = sessions_of(mine, *key)
        for metric in chosen:
            for line in _lines(rig, sessions, key, metric, last=last):
                printed = True
                tell(line)
    if not printed:
        tell("nothing of that arm, workload and metric in it")


def _metrics(named: tuple[str, ...]) -> list[Metric]:
    if "all" in named:
        return list(METRICS.values())
    for name in named:
        if name not in METRICS:
            raise UsageError(
                tried=f"show the history of {name!r}",
                found="there is no such metric",
                do=f"name one of: {', '.join(METRICS)}, or all",
            )
    return [METRICS[name] for name in named or _DEFAULT]


def _rig(root: Path, name: str) -> Rig | None:
    """The rig tells floors of its own; a history is worth reading without it."""
    try:
        return load_rig(name, root=root)
    except GateError:
        return None


def _series(entries: list[Entry], arm: str | None, workload: str | None) -> list[tuple[str, str, str]]:
    """Return arm, workload and identity of every series, the one measured last at the end."""
    found: dict[tuple[str, str, str], str] = {}
    for entry in entries:
        for one in entry.series:
            if arm in (None, one.arm) and workload in (None, one.workload):
                found[one.arm, one.workload, one.identity] = entry.started_at
    return sorted(found, key=lambda key: (key[0], key[1], found[key]))


def _lines(
    rig: Rig | None, sessions: list[Session], key: tuple[str, str, str], metric: Metric, *, last: int
) -> Iterator[str]:
    arm, workload, identity = key
    series = points(sessions, metric)
    if not series:
        return
    found = standings(rig, metric, series)
    yield ""
    many = "1 session" if len(series) == 1 else f"{len(series)} sessions"
    yield f"{metric.name} of {one_line(workload)} on {one_line(arm)}, identity {one_line(identity)}, {many}"
    begins = {one.since.run_id: one for one in found}
    shown = series[-max(last, 1) :]
    rows = [
        (
            f"  {one_line(point.run_id)}",
            metric.text(point.value),
            str(point.runs),
            point.outcome.value if point.outcome is not None else "not judged",
            one_line(point.sglang or "unknown", 24),
            one_line(point.fingerprint or "unknown"),
            _mark(begins.get(point.run_id)) or one_line(point.change or "", 60),
        )
        for point in shown
    ]
    yield table(("  run", "median", "runs", "outcome", "SGLang", "machine", ""), rows)
    if len(series) > len(shown):
        yield f"  and {len(series) - len(shown)} earlier: --last {len(series)}"
    for one in found:
        yield f"  {one_line(one.words)}"


def _mark(began: Standing | None) -> str:
    return f"<- {began.change.change:+.1%}" if began is not None else ""
