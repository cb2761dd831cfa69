"""`tokgate sim up`, `status`, `smi`, `mend`, `down`: a box that stands, to be looked at and talked to."""

from __future__ import annotations

import csv
import json
import shlex
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from tokgate.cli.checkout import pass_root
from tokgate.cli.help import Taught, teach
from tokgate.cli.sim_complete import scenarios_to_complete
from tokgate.cli.sim_program import HEALTHY, box, environment, names_in, program, ran, scenario, state_of
from tokgate.errors import HostFault, UsageError
from tokgate.report import simulated
from tokgate.report.visible import one_line
from tokgate.rig.repository import promises_in
from tokgate.rig.shipped import DEFAULT

KNOBS = "by-hand.toml"  # in the box's folder: knobs that `tokgate sim break` turned
_SMI_LIMIT_S = 10.0

state_option = click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    help="The folder that the box lives in. Default: .simbox/ of the repository, which the rig sim-8gpu uses.",
)


@click.command(
    "up",
    cls=Taught,
    **teach(
        examples=(
            "tokgate sim up",
            "tokgate sim up incident",
            "tokgate sim up heat --seed 7 --state /tmp/box",
        ),
        then=("tokgate sim smi", "tokgate sim serve", "tokgate sim break leftover-living"),
    ),
)
@click.argument("names", nargs=-1, metavar="[SCENARIO]...", shell_complete=scenarios_to_complete)
@click.option("--seed", type=int, metavar="N", help="Of all that the box draws: noise, modes. Default: 0.")
@state_option
@pass_root
def up(root: Path, names: Sequence[str], seed: int | None, state: Path | None) -> None:
    """Put a box up that stays, healthy or playing scenarios; a box that is up stays as it is.

    The rig sim-8gpu finds it there; the lines that are printed end with the command that measures on it.
    """
    folder = state_of(root, state)
    asked = playable(names)
    before = standing(folder)
    if before is not None and asked and asked != before["scenarios"]:
        raise UsageError(
            tried=f"putting a box up in {folder}",
            found=f"one stands there and plays {', '.join(before['scenarios']) or 'nothing'}",
            do=f"tokgate sim break {shlex.join(asked)} adds to it; tokgate sim down ends it first",
        )
    put_up(folder, asked, seed)
    for line in _how_to_talk(root, folder, default=state is None):
        click.echo(line)


@click.command(
    "status",
    cls=Taught,
    **teach(
        examples=("tokgate sim status",),
        codes=((0, "a box is up"), (4, "there is none")),
        then=("tokgate sim smi", "tokgate sim mend"),
    ),
)
@state_option
@pass_root
def status(root: Path, state: Path | None) -> None:
    """Say whether a box is up, what it plays, and who holds its GPUs."""
    folder = state_of(root, state)
    told = need_standing(folder)
    click.echo(simulated.banner(DEFAULT))
    click.echo(f"box up in {folder}, seed {told['seed']}")
    names = told["scenarios"]
    for name in names:
        one = scenario(name)
        click.echo(f"plays {one.name}: {one.title}")
    if not names:
        click.echo(f"plays nothing: {scenario(HEALTHY).title}")
    for line in _gpus(folder):
        click.echo(line)


@click.command(
    "smi",
    cls=Taught,
    **teach(
        examples=(
            "tokgate sim smi",
            "tokgate sim smi topo -m",
            "tokgate sim smi --query-gpu=index,memory.used --format=csv",
        ),
        then=("tokgate sim status",),
    ),
    context_settings={
        "ignore_unknown_options": True,
        "allow_interspersed_args": False,
        "help_option_names": ["--help"],
    },
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--state",
    type=click.Path(file_okay=False, path_type=Path),
    help="As of `tokgate sim up`; before all else.",
)
@pass_root
def smi(root: Path, arguments: Sequence[str], state: Path | None) -> None:
    """Ask the box's own nvidia-smi; the exit code is its own."""
    folder = state_of(root, state)
    need_standing(folder)
    done = subprocess.run([program("nvidia-smi"), *arguments], env=environment(folder), check=False)
    raise SystemExit(done.returncode)


@click.command(
    "mend",
    cls=Taught,
    **teach(examples=("tokgate sim mend",), then=("tokgate sim status",)),
)
@state_option
@pass_root
def mend(root: Path, state: Path | None) -> None:
    """Make the box healthy again: what plays ends, what squats on its GPUs goes, its servers end."""
    folder = state_of(root, state)
    told = need_standing(folder)
    ended = box(folder, "down").strip()
    (folder / KNOBS).unlink(missing_ok=True)
    put_up(folder, (), int(told["seed"]))
    click.echo(f"healthy again; {ended}")


@click.command(
    "down",
    cls=Taught,
    **teach(examples=("tokgate sim down",), then=("tokgate sim up",)),
)
@state_option
@pass_root
def down(root: Path, state: Path | None) -> None:
    """End the box: its servers, and whoever squats on its GPUs. Its truth files stay in the folder."""
    folder = state_of(root, state)
    click.echo(f"{folder}: {box(folder, 'down').strip()}")


def playable(names: Sequence[str]) -> list[str]:
    """Return scenarios as a box keeps them: names, and absolute paths. UsageError: there is no such one."""
    found = [name for name in names_in(names) if name != HEALTHY]
    for name in found:
        scenario(name)
    return [str(Path(n).absolute()) if n.endswith(".toml") or "/" in n else n for n in found]


def put_up(folder: Path, names: Sequence[str], seed: int | None) -> None:
    words = [word for name in names for word in ("--sim-scenario", name)]
    words += [] if seed is None else ["--sim-seed", str(seed)]
    click.echo(box(folder, "up", *words).strip())


def standing(folder: Path) -> dict[str, Any] | None:
    """Read what the box in a folder plays; None where none is up."""
    try:
        told = json.loads((folder / "box.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    good = (
        isinstance(told, dict)
        and isinstance(told.get("scenarios"), list)
        and isinstance(told.get("seed"), int)
    )
    return {**told, "scenarios": list(map(str, told["scenarios"]))} if good else None


def need_standing(folder: Path) -> dict[str, Any]:
    told = standing(folder)
    if told is None:
        raise UsageError(
            tried=f"finding a box in {folder}",
            found="none is up",
            do="put one up: tokgate sim up, or name its folder: --state",
        )
    return told


def _gpus(folder: Path) -> Iterator[str]:
    """Yield the memory that is in use, GPU by GPU, and by whom; what nvidia-smi says instead, where it says something else."""
    smi_words = [program("nvidia-smi"), "--format=csv,noheader,nounits"]
    try:
        gpus = ran([*smi_words, "--query-gpu=index,uuid,memory.used"], folder, _SMI_LIMIT_S)
        apps = ran(
            [*smi_words, "--query-compute-apps=gpu_uuid,pid,used_memory,process_name"], folder, _SMI_LIMIT_S
        )
    except HostFault as fault:
        yield f"nvidia-smi: {fault.found}"
        return
    if gpus.returncode != 0:
        yield f"nvidia-smi ends with {gpus.returncode}: {one_line(gpus.stdout + gpus.stderr, 300)}"
        return
    rows = [row for row in csv.reader(gpus.stdout.splitlines(), skipinitialspace=True) if len(row) > 2]
    holders = [row for row in csv.reader(apps.stdout.splitlines(), skipinitialspace=True) if len(row) > 3]
    used = [row for row in rows if row[2] != "0"]
    yield f"{len(rows)} GPUs, {len(rows) - len(used)} of them with no memory in use"
    for index, uuid, mib, *_ in used:
        who = ", ".join(
            f"pid {pid} ({one_line(name, 40)})" for gpu, pid, _, name, *_ in holders if gpu == uuid
        )
        yield f"  GPU {index}: {one_line(mib, 40)} MiB, {who or 'nobody living'}"


def _how_to_talk(root: Path, folder: Path, *, default: bool) -> Iterator[str]:
    option = "" if default else f" --state {shlex.quote(str(folder))}"
    rig = "" if default else f" --rig-set host.environment.SIMBOX_STATE={shlex.quote(str(folder))}"
    yield ""
    yield f"look     tokgate sim smi{'' if default else f'{option}'}"
    yield f"         tokgate sim status{option}"
    yield f"serve    tokgate sim serve{option}"
    yield f"break    tokgate sim break leftover-living{option}"
    yield f"end      tokgate sim down{option}"
    yield f"measure  pytest {promises_in(root)} -m eagle3 --rig {DEFAULT}{rig}"
