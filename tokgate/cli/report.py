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
    # It takes its rootdir from whatever stands alone on its command line, so that a run of another checkout would
    # lead it there: the option and its value are one word, and rootdir and configuration are named.
    command = [sys.executable, "-m", "pytest", f"--rejudge={run.resolve()}", "-q", f"--rootdir={root}"]
    command += ["-c", str(_configuration(root, run))]
    command += _selected(evidence.info.selection, root, run)
    raise SystemExit(subprocess.run(command, cwd=root, check=False).returncode)


def _configuration(root: Path, run: Path) -> Path:
    file = root / "pyproject.toml"
    if not file.is_file():
        raise UsageError(
            tried=f"judging {run} again",
            found=f"no {file}: how to run the promises",
            do="run the command inside a checkout of tokgate, or name one: tokgate --root PATH …",
        )
    return file


def _selected(selection: str, root: Path, run: Path) -> list[str]:
    """Return the arguments that run.json asks for, if they select among the promises and do nothing else.

    A run folder is data and may come from anywhere; pytest's arguments load plugins and run any file.
    """
    refused = UsageError(
        tried=f"selecting the tests that {run / 'run.json'} names",
        found=f"{selection!r} is more than parts of perf_tests/, -m and -k",
        do="judge a folder that a gate session wrote, and that nobody edited",
    )
    try:
        words = shlex.split(selection)
    except ValueError as error:
        raise refused from error
    promises = (root / "perf_tests").resolve()
    places, flags, waiting = [], [], iter(words)
    for word in waiting:
        if word in ("-m", "-k"):
            flags.append(f"{word}{next(waiting, '')}")
        else:
            path = (root / word.partition("::")[0]).resolve()
            if word.startswith(("-", "@")) or not (path == promises or promises in path.parents):
                raise refused
            places.append(word)
    if not places:
        raise refused
    return [*flags, *places]
