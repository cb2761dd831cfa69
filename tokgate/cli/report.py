"""`tokgate report RUN`: judge a stored run again and write its reports anew, without any server."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import click

from tokgate.cli.checkout import pass_root
from tokgate.errors import UsageError
from tokgate.session.run_folder import load_run


@click.command()
@click.argument("run", type=click.Path(path_type=Path))
@pass_root
def report(root: Path, run: Path) -> None:
    """Rebuild verdict.json, report.html and summary.md of RUN from the folder alone.

    RUN is a folder below reports/, e.g. reports/latest. The same tests judge the stored evidence; the
    exit code is the one the evidence deserves.
    """
    evidence, _ = load_run(run)
    if not (root / "perf_tests").is_dir():
        raise UsageError(
            tried=f"judging {run} again",
            found=f"no perf_tests/ in {root}: the promises to judge by",
            do="run the command inside a checkout of tokgate, or name one: tokgate --root PATH …",
        )
    # pytest is run as a program: the library and its command know no pytest.
    command = [sys.executable, "-m", "pytest", "--rejudge", str(run.resolve()), "-q"]
    command += shlex.split(evidence.info.selection)
    raise SystemExit(subprocess.run(command, cwd=root, check=False).returncode)
