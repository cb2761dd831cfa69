"""`tokgate report RUN`: judge a stored run again and write its reports anew, without any server."""

from __future__ import annotations

import re
import shlex
import sys
from contextlib import suppress
from pathlib import Path

import click

from tokgate.cli.checkout import pass_root
from tokgate.cli.complete import runs_to_complete
from tokgate.cli.handed_over import handed_over
from tokgate.cli.help import Taught, teach
from tokgate.errors import UsageError
from tokgate.session.fleet_stored import load_head

_PACKAGE = "tokgate.perf_tests"
_MODULE = re.compile(rf"{re.escape(_PACKAGE)}(?:\.\w+)?(?:::[^\0]*)?$")


@click.command(
    cls=Taught,
    **teach(
        examples=("tokgate report reports/latest",),
        codes=(
            (0, "pass or improved"),
            (10, "inconclusive"),
            (11, "invalid"),
            (12, "no-baseline"),
            (13, "regressed"),
        ),
        then=("tokgate baseline diff reports/latest", "tokgate compare reports/A reports/latest"),
    ),
)
@click.argument("run", type=click.Path(path_type=Path), shell_complete=runs_to_complete)
@pass_root
def report(root: Path, run: Path) -> None:
    """Judge a stored run again and write its reports anew, without any server.

    RUN is a folder below reports/, e.g. reports/latest. The same tests judge the stored evidence; the
    exit code is the one the evidence deserves.
    """
    evidence, _ = load_head(run)
    # pytest is run as a program: the library and its command know no pytest.
    # It takes its rootdir from whatever stands alone on its command line, so that a run of another repository would
    # lead it there: the option and its value are one word, and rootdir and configuration are named.
    command = [
        sys.executable,
        "-m",
        "tokgate.fixtures.run_tests",
        f"--rejudge={run.resolve()}",
        "-q",
        f"--rootdir={root}",
    ]
    command += _configuration(root)
    command += selected(evidence.info.selection, root, run)
    raise SystemExit(handed_over(command, cwd=root))


def _configuration(root: Path) -> list[str]:
    """Return the option that names pytest's configuration, where the repository has one of its own."""
    ini, project = root / "pytest.ini", root / "pyproject.toml"
    if ini.is_file():
        return ["-c", str(ini)]
    with suppress(OSError):
        if b"[tool.pytest" in project.read_bytes():
            return ["-c", str(project)]
    return []


def selected(selection: str, root: Path, run: Path) -> list[str]:
    """Return the arguments that run.json asks for, if they select among the promises and do nothing else.

    A run folder is data and may come from anywhere; pytest's arguments load plugins and run any file. Promises of
    tokgate are taken from the repository's perf_tests/, where it has one, else from the installed tokgate.
    """
    refused = UsageError(
        tried=f"selecting the tests that {run / 'run.json'} names",
        found=f"{selection!r} is more than parts of perf_tests/, of {_PACKAGE}, -m and -k",
        do="judge a folder that a gate session wrote, and that nobody edited",
    )
    try:
        words = shlex.split(selection)
    except ValueError as error:
        raise refused from error
    places, flags, waiting = [], [], iter(words)
    for word in waiting:
        if word in ("-m", "-k"):
            flags.append(f"{word}{next(waiting, '')}")
        elif word != "--pyargs":
            place = _place(word, root)
            if place is None:
                raise refused
            places.append(place)
    if not places:
        raise refused
    return [*(["--pyargs"] if any(_MODULE.match(place) for place in places) else []), *flags, *places]


def _place(word: str, root: Path) -> str | None:
    """Return what names the promises that `word` names, in the repository `root`; None: it names something else."""
    if word.startswith(("-", "@")):
        return None
    if _MODULE.match(word):
        return word
    name, separator, node = word.partition("::")
    path, own = (root / name).resolve(), (root / "perf_tests").resolve()
    if path != own and own not in path.parents:
        return None
    if path.exists():
        return word
    below = ".".join((_PACKAGE, *path.relative_to(own).parts)).removesuffix(".py")
    return f"{below}{separator}{node}"
