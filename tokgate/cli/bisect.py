"""`tokgate bisect --good REF`: one step of `git bisect run`, measured against the good commit in one session."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from tokgate.cli.bisect_left import candidates
from tokgate.cli.bisect_step import BAD, GOOD, SKIP, STOP, WORDS, Step, step_of
from tokgate.cli.checkout import pass_root
from tokgate.cli.complete import rigs_to_complete
from tokgate.cli.git import git
from tokgate.cli.handed_over import handed_over
from tokgate.cli.help import Taught, teach
from tokgate.cli.rig_options import rig_set
from tokgate.cli.telling import tell
from tokgate.errors import GateError, UsageError
from tokgate.report import durations, simulated
from tokgate.report.visible import one_line
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.rig.repository import is_declared, promises_in
from tokgate.rig.shipped import is_checkout, shipped_root

STEPS = "bisect.jsonl"  # in the folder of the steps' reports: one step a line


class Stopping(Taught):
    """To git every code below 125 but 0 is "bad": a slip in the command line must not blame a commit."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as error:
            click.echo(f"found: {error.format_message()}\ndo:    see tokgate bisect --help", err=True)
            raise SystemExit(STOP) from None


@click.command(
    cls=Stopping,
    context_settings={"ignore_unknown_options": True},
    **teach(
        examples=(
            "tokgate bisect --good v0.5.22 --rig mybox",
            "tokgate bisect --good v0.5.22 --rig mybox --arm baseline",
        ),
        codes=(
            (GOOD, "good: not slower than the good commit"),
            (BAD, "bad: slower, established"),
            (
                SKIP,
                "cannot tell: inconclusive, it does not start, or compiled parts differ; git skips the commit",
            ),
            (STOP, "the bench is at fault; git ends the bisection"),
        ),
        then=("git bisect log", "pytest perf_tests --culprit --base v0.5.22 --head HEAD"),
    ),
)
@click.option(
    "--good", required=True, metavar="REF", help="What every step is held against: a commit, branch or tag."
)
@click.option(
    "--rig",
    "name",
    required=True,
    metavar="NAME",
    shell_complete=rigs_to_complete,
    help="The rig to measure on.",
)
@click.option(
    "--sglang-repo",
    type=click.Path(path_type=Path),
    help="The checkout that is bisected, as it lies on the rig's host. Default: the one around the working folder.",
)
@click.option(
    "--arm",
    help="The arm to measure. Default: the first one with EAGLE-3, else the control arm; 'all': each.",
)
@click.option("--workload", help="The workload to judge. Default: the rig's first one; 'all': each.")
@click.option(
    "--report-dir",
    type=click.Path(path_type=Path),
    help="Where each step's run folder is kept. Default: reports/bisect/.",
)
@rig_set
@click.argument("pytest_arguments", nargs=-1, type=click.UNPROCESSED)
@pass_root
def bisect(
    root: Path,
    *,
    good: str,
    name: str,
    sglang_repo: Path | None,
    arm: str | None,
    workload: str | None,
    report_dir: Path | None,
    overrides: Sequence[str],
    pytest_arguments: Sequence[str],
) -> None:
    """Say whether the commit that is checked out is slower than a good one, for `git bisect run`.

    In a checkout of SGLang, after `git bisect start BAD GOOD`: `git bisect run tokgate --root ~/serving bisect --good GOOD --rig mybox`,
    where ~/serving is the repository that has the rig.

    HEAD of the checkout and the good commit are measured in one session, each from a tree of its own; what is not committed
    is not measured, and the checkout is not touched. Further words go to pytest, e.g. -k single.
    """
    try:
        code = _step(
            _home(root),
            good=good,
            name=name,
            repository=(sglang_repo or Path.cwd()).absolute(),
            arm=arm,
            workload=workload,
            report_dir=report_dir,
            overrides=overrides,
            further=pytest_arguments,
        )
    except (GateError, OSError) as error:
        tell(str(error))
        # 4 or 11 would be "bad" to git: whatever keeps this bench from measuring ends the bisection.
        raise SystemExit(STOP) from None
    raise SystemExit(code)


def _step(
    root: Path,
    *,
    good: str,
    name: str,
    repository: Path,
    arm: str | None,
    workload: str | None,
    report_dir: Path | None,
    overrides: Sequence[str],
    further: Sequence[str],
) -> int:
    rig = load_rig(name, root=root, overrides=overrides)
    if rig.simulated:
        tell(simulated.banner(rig.name))
    head = _commit(repository, "HEAD")
    what = f"{head[:12]} {one_line(_said(repository, 'log', '-1', '--format=%s', head), 100)}"
    reports = (report_dir or root / "reports" / "bisect").resolve()
    reports.mkdir(parents=True, exist_ok=True)
    if head == _commit(repository, good):
        return _told(reports, what, None, Step(GOOD, "it is the good commit itself: nothing is measured"))
    left = candidates(repository)
    tell(f"bisect: {what}, against {good}{f'; {left}' if left is not None else ''}")
    before, begun = _runs(reports), time.monotonic()
    words = [
        *shlex.split(promises_in(root)),
        "-m",
        "patch",
        # A step takes minutes: how far it has come is shown; what backs its answer stands in its report.
        *("--tb=no", "--no-header", "-rN"),
        *_selected(rig, arm, workload),
        f"--rig={name}",
        f"--sglang-repo={repository}",
        f"--base={good}",
        f"--head={head}",
        f"--report-dir={reports}",
        *(word for override in overrides for word in ("--rig-set", override)),
        *further,
    ]
    # pytest is run as a program: the library and its command know no pytest.
    code = handed_over([sys.executable, "-m", "tokgate.fixtures.run_tests", *words], cwd=root)
    took = time.monotonic() - begun
    new = sorted(_runs(reports) - before)
    folder = new[-1] if new else None
    if code == 2 or code > STOP:  # interrupted: by pytest's own code, or by a signal
        return _told(reports, what, folder, Step(STOP, f"interrupted (exit code {code})"), took)
    return _told(reports, what, folder, step_of(_verdict(folder), code), took)


def _home(root: Path) -> Path:
    """Return the repository whose rigs are meant: in a checkout of SGLang, which has none, that of this tokgate."""
    return shipped_root() if not is_declared(root) and is_checkout() else root


def _selected(rig: Rig, arm: str | None, workload: str | None) -> tuple[str, ...]:
    """Return pytest's -k for one arm and workload: what a step takes decides what a bisection takes."""
    arms, workloads = [one.name for one in rig.arms], [one.name for one in rig.workloads]
    wanted = []
    for what, name, usual, known in (
        ("arm", arm, next((one.name for one in rig.arms if one.kind == "eagle3"), rig.control.name), arms),
        ("workload", workload, workloads[0], workloads),
    ):
        if name == "all":
            continue
        if name is not None and name not in known:
            raise UsageError(
                tried=f"bisecting on {what} {name!r}",
                found=f"the rig {rig.name} has {', '.join(known)}",
                do=f"choose one of them: --{what} {known[-1]}",
            )
        wanted.append(name or usual)
    return ("-k", " and ".join(wanted)) if wanted else ()


def _commit(repository: Path, ref: str) -> str:
    found = _said(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}")
    if not found:
        raise UsageError(
            tried=f"reading the commit {ref!r} of {repository}",
            found="git knows none there",
            do="run this in the checkout that is bisected, or name it: --sglang-repo PATH",
        )
    return found


def _said(repository: Path, *words: str) -> str:
    return (git(repository, *words) or b"").decode(errors="backslashreplace").strip()


def _runs(reports: Path) -> set[Path]:
    return {path.parent for path in reports.glob("*/run.json") if not path.parent.is_symlink()}


def _verdict(folder: Path | None) -> dict[str, Any] | None:
    if folder is None:
        return None
    with suppress(OSError, ValueError):
        found = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else None
    return None


def _told(reports: Path, what: str, folder: Path | None, step: Step, seconds: float | None = None) -> int:
    """Print what came of this step, and keep it."""
    kept = {
        "commit": what,
        "code": step.code,
        "result": WORDS[step.code],
        "why": step.why,
        "figures": list(step.figures),
        "seconds": round(seconds, 1) if seconds is not None else None,
        "run": folder.name if folder is not None else None,
    }
    with (reports / STEPS).open("a", encoding="utf-8") as file:
        file.write(json.dumps(kept) + "\n")
    for line in step.figures:
        tell(f"  {line}")
    took = f", after {durations.words(seconds)}" if seconds is not None else ""
    tell(f"bisect: {what}: {WORDS[step.code]} (exit code {step.code}){took}: {one_line(step.why, 400)}")
    tell(f"bisect: {folder or 'no run folder'}; every step so far: {reports / STEPS}")
    return step.code
