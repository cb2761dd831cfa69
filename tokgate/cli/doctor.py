"""`tokgate doctor`: everything that would make a gate fail later, found in seconds, each with its remedy."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click
from rich.console import Console

from tokgate.cli.checkout import pass_root
from tokgate.cli.doctor_hosts import end_of, hosts_of
from tokgate.cli.folding import width
from tokgate.cli.help import Taught, teach
from tokgate.cli.rig_options import rig_set
from tokgate.cli.telling import tell, tell_as_it_is
from tokgate.cli.terminated import terminated
from tokgate.errors import UsageError
from tokgate.records.doctor import Examination
from tokgate.report.examination import WIDTH, render
from tokgate.report.terminal import wants_colour
from tokgate.report.visible import one_line, wrapped
from tokgate.rig.load import load_rig
from tokgate.rig.repository import promises_in
from tokgate.session.doctor.checks import CHECKS, GROUPS
from tokgate.session.doctor.examine import examine
from tokgate.session.doctor.runner import Said

_NAME = 22  # columns of --list: the longest is baselines.compared


@click.command(
    cls=Taught,
    **teach(
        examples=(
            "tokgate doctor --rig mybox",
            "tokgate doctor --rig mybox --rig-set server.args.tp_size=4",
            "tokgate doctor --rig mybox --json | jq '.results[] | select(.state == \"fail\")'",
        ),
        codes=(
            (
                0,
                "a gate can start, of a pool on one host at least; warnings and unknowns are allowed without --strict",
            ),
            (4, "the rig itself is wrong, or the command line"),
            (11, "a gate would end invalid: something listed as fail has to be mended first"),
        ),
        then=("pytest perf_tests -m eagle3 --rig mybox",),
    ),
)
@click.option("--rig", "name", metavar="NAME|PATH", help="The rig to examine, as in `tokgate rig list`.")
@click.option(
    "--quick", is_flag=True, help="Leave out what takes longer: importing SGLang, and this client's ceiling."
)
@click.option("--strict", is_flag=True, help="Exit with 11 where there is a warning or an unknown, too.")
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON, for programs.")
@click.option("--list", "listing", is_flag=True, help="List the checks, and make none.")
@click.option(
    "--report-dir", type=click.Path(path_type=Path), help="Where a gate would write. Default: reports/."
)
@click.option(
    "--sglang-repo",
    metavar="PATH",
    help="A checkout of SGLang on the host, as a gate would be given: its HEAD is looked at as well.",
)
@rig_set
@pass_root
def doctor(
    root: Path,
    *,
    name: str | None,
    quick: bool,
    strict: bool,
    as_json: bool,
    listing: bool,
    report_dir: Path | None,
    sglang_repo: str | None,
    overrides: Sequence[str],
) -> None:
    """Find out in seconds what would make a gate on this rig fail later, and say how to mend each.

    Of a pool every host is looked at, and said which of them a gate would admit; of a server over several hosts every node.
    The rig, its host, GPUs, SGLang, models, NCCL settings and stored baselines are looked at, and this machine, which
    measures. No server is started, no setting of a GPU is changed, no process is signalled.
    """
    if listing:
        for check in CHECKS:
            for line in wrapped(
                check.looks, min(width(), WIDTH), first=f"{check.name:<{_NAME}}", indent=" " * _NAME
            ):
                tell(line)
        return
    if name is None:
        raise UsageError(
            tried="choosing the rig to examine",
            found="no --rig",
            do="name one: tokgate doctor --rig NAME (tokgate rig list shows them, tokgate rig init writes one)",
        )
    rig = load_rig(name, root=root, overrides=overrides)
    reports = (report_dir or root / "reports").resolve()
    columns = min(width(), WIDTH)
    several = hosts_of(rig)
    found: list[Examination] = []
    for host in several:
        if host.words and not as_json:
            tell(f"\n{host.words}" if found else host.words)
        with _progress() as said:
            one = examine(
                host.rig,
                root=root,
                reports=reports,
                quick=quick,
                repository=sglang_repo,
                checks=host.checks,
                said=said,
            )
        found.append(one)
        if as_json:
            tell_as_it_is(one.model_dump_json(indent=1))
            continue
        text = render(
            one,
            GROUPS,
            strict=strict,
            colour=wants_colour(sys.stdout, os.environ),
            named=name,
            overrides=overrides,
            promises=promises_in(root),
            width=columns,
            alone=len(several) == 1,
        )
        _tell_whole(text)
    end = end_of(rig, several, found, root=root, reports=reports, strict=strict)
    if as_json and end.pool:
        tell_as_it_is(json.dumps({"pool": [host.model_dump(mode="json") for host in end.pool]}, indent=1))
    elif not as_json and len(several) > 1:
        lines = end.lines(columns, named=name, overrides=overrides, promises=promises_in(root))
        _tell_whole("\n".join(lines))
    raise SystemExit(end.code)


def _tell_whole(text: str) -> None:
    above, _, last = text.rstrip("\n").rpartition("\n")
    if above:
        tell(above)
    tell_as_it_is(last)  # the command to run next: folded it could not be pasted


@contextmanager
def _progress() -> Iterator[Said | None]:
    """Show on a terminal which check was the last to answer; elsewhere nothing."""
    console = Console(stderr=True)
    if not console.is_terminal or os.environ.get("CI") == "true":
        yield None
        return
    # The display hides the cursor: it is shown again however the command ends.
    with terminated(), console.status("reaching the host") as status:
        yield lambda name, done, of: status.update(f"{done} of {of} checks made, the last: {one_line(name)}")
