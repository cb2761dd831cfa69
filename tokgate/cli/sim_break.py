"""`tokgate sim break`: break the box that stands, by scenarios, single knobs, or somebody on a GPU."""

from __future__ import annotations

import shlex
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

import click

from tokgate.cli.checkout import pass_root
from tokgate.cli.help import Taught, teach
from tokgate.cli.sim_box import KNOBS, need_standing, playable, put_up, state_option
from tokgate.cli.sim_complete import scenarios_to_complete
from tokgate.cli.sim_program import box, ran, scenario, state_of
from tokgate.errors import UsageError
from tokgate.rig.toml_text import toml_key, toml_value

_LIFE_S = 600.0


@click.command(
    "break",
    cls=Taught,
    **teach(
        examples=(
            "tokgate sim break leftover-living",
            "tokgate sim break verify_factor=1.3 tree=patched",
            "tokgate sim break --gpu 3 --mib 1894",
        ),
        then=("tokgate doctor --rig sim-8gpu", "tokgate sim mend"),
    ),
)
@click.argument("what", nargs=-1, metavar="[SCENARIO|KNOB=VALUE]...", shell_complete=scenarios_to_complete)
@click.option(
    "--gpu", type=click.IntRange(0, 15), metavar="N", help="Put somebody else's process on this GPU, at once."
)
@click.option(
    "--mib", type=click.IntRange(1), default=1894, show_default=True, help="How much memory it takes."
)
@click.option(
    "--zombie", is_flag=True, help="It dies at once and is never waited for: memory without a living owner."
)
@state_option
@pass_root
def break_(
    root: Path, *, what: Sequence[str], gpu: int | None, mib: int, zombie: bool, state: Path | None
) -> None:
    """Break the box that stands: scenarios and knobs on top of what it plays.

    nvidia-smi shows it at once, a server from its next start; servers that run are ended by it, but not by --gpu.
    """
    folder = state_of(root, state)
    told = need_standing(folder)
    if not what and gpu is None:
        raise UsageError(
            tried="breaking the box",
            found="nothing is named",
            do="name a scenario (tokgate sim list), a knob (docs/scenarios.md), or --gpu N",
        )
    knobs = dict(_knob(word) for word in what if "=" in word)
    names = [*told["scenarios"], *playable([word for word in what if "=" not in word])]
    file = folder / KNOBS
    before = file.read_text(encoding="utf-8") if file.is_file() else None
    if knobs:
        # Later wins: what is turned by hand stands last.
        names = [n for n in names if n != str(file)] + [_written(file, before, knobs)]
    if what:
        try:
            _play(folder, list(dict.fromkeys(names)), int(told["seed"]))
        except UsageError:
            # The box refuses it: then it plays what it played before.
            if before is not None:
                file.write_text(before, encoding="utf-8")
            _play(folder, told["scenarios"], int(told["seed"]))
            raise
        for name in dict.fromkeys(names):
            click.echo(f"  {scenario(name).title}")
    if gpu is not None:
        _squat(folder, gpu, mib, zombie=zombie)
    click.echo("see it: tokgate sim status; end it: tokgate sim mend")


def _knob(word: str) -> tuple[str, object]:
    name, _, text = word.partition("=")
    try:
        value: object = tomllib.loads(f"v = {text}")["v"]
    except tomllib.TOMLDecodeError:
        value = text
    return name.strip(), value


def _written(file: Path, before: str | None, knobs: dict[str, object]) -> str:
    """Write the knobs that were turned by hand, those of earlier calls among them, as a scenario."""
    turned = (tomllib.loads(before).get("knobs", {}) if before is not None else {}) | knobs
    title = ", ".join(f"{name} = {value}" for name, value in turned.items())
    lines = [f"title = {toml_value(f'{title}, turned by hand')}", "[knobs]"]
    lines += [f"{toml_key(name)} = {toml_value(value)}" for name, value in turned.items()]
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return str(file)


def _play(folder: Path, names: Sequence[str], seed: int) -> None:
    ended = box(folder, "down").strip()
    put_up(folder, names, seed)
    if "nobody" not in ended:
        click.echo(f"servers and squatters that ran were ended ({ended})")


def _squat(folder: Path, gpu: int, mib: int, *, zombie: bool) -> None:
    kind = "zombie" if zombie else "living"
    argv = [sys.executable, "-m", "simbox.squatter", str(folder), str(gpu), str(mib), str(_LIFE_S), kind]
    # Detached, and with nothing of ours: it is somebody else's.
    done = ran(["/bin/sh", "-c", f"setsid {shlex.join(argv)} </dev/null >/dev/null 2>&1"], folder)
    if done.returncode != 0:
        raise UsageError(
            tried=f"putting a process on GPU {gpu}",
            found=f"it ended with {done.returncode}",
            do="see whether the box is up: tokgate sim status",
        )
    click.echo(f"a {kind} process holds {mib} MiB of GPU {gpu}, for ten minutes at most")
