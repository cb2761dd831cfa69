"""The simulated box as tokgate uses it: a program of its own, found and run, never imported."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tokgate.errors import GateError, HostFault, UsageError
from tokgate.report.visible import one_line
from tokgate.rig.load import load_rig
from tokgate.rig.nearest import known_names
from tokgate.rig.shipped import DEFAULT, shipped_root

HEALTHY = "healthy"  # no scenario: the tuned box of the good day
_LIMIT_S = 60.0  # a box comes up in a second; a busy machine takes longer


@dataclass(frozen=True)
class Played:
    """A scenario as its file tells it."""

    name: str
    title: str
    gate: str  # "regressed: verify, then the tree; not NCCL"
    layer: str
    text: str  # the file

    @property
    def outcome(self) -> str:
        """Return the word that the gate's conclusion begins with: "regressed", "pass", ..."""
        return self.gate.partition(":")[0].partition(" ")[0].partition(",")[0]


def home() -> Path:
    """Return the folder that holds simbox/: a checkout, or what tokgate ships. UsageError: there is none."""
    found = shipped_root()
    if not (found / "simbox" / "box.py").is_file():
        raise UsageError(
            tried="finding the simulated box",
            found=f"no simbox/ in {found}",
            do="use a checkout of tokgate, or install a wheel that ships it: pip install 'tokgate[sim]'",
        )
    return found


def scenarios() -> tuple[Played, ...]:
    """Read every scenario that comes with the box, in the order of their names."""
    return tuple(_read(file) for file in sorted((home() / "simbox" / "scenarios").glob("*.toml")))


def scenario(name: str) -> Played:
    """Read a scenario by name or path. UsageError: there is none."""
    if name == HEALTHY:
        return Played(HEALTHY, "nothing is wrong: the tuned box of the good day", "pass", "-", "")
    if name.endswith(".toml") or "/" in name:
        if Path(name).is_file():
            return _read(Path(name))
        raise UsageError(
            tried=f"reading the scenario {name}", found="no such file", do="tokgate sim list has them"
        )
    known = {file.stem: file for file in (home() / "simbox" / "scenarios").glob("*.toml")}
    if name not in known:
        raise UsageError(
            tried=f"finding the scenario {one_line(name, 80)!r}",
            found=f"there is none; {known_names(name, (HEALTHY, *known))}",
            do="tokgate sim list has them, each with what it plants; a file of your own is given by its path, ./mine.toml",
        )
    return _read(known[name])


def state_of(root: Path, named: Path | None) -> Path:
    """Return the folder of the standing box: `named`, or the one that the rig sim-8gpu uses."""
    if named is not None:
        return named.absolute()
    try:
        told = load_rig(DEFAULT, root=root).host.environment.get("SIMBOX_STATE")
    except GateError:
        told = None
    return Path(told) if told else root / ".simbox"


def environment(state: Path | None = None) -> dict[str, str]:
    """Return the variables with which simbox's programs run: it is importable, and knows its folder and its Python."""
    place = home()
    before = os.environ.get("PYTHONPATH")
    found = {
        **os.environ,
        "PYTHONPATH": f"{place}:{before}" if before else str(place),
        # In an installed copy there is no .venv beside it.
        "SIMBOX_PYTHON": os.environ.get("SIMBOX_PYTHON") or sys.executable,
    }
    return found if state is None else {**found, "SIMBOX_STATE": str(state)}


def drawn(names: Sequence[str], seed: int) -> list[str]:
    """Return what scenarios drew by their seed and how much slower that made the box; nothing where nothing is drawn."""
    argv = [sys.executable, "-m", "simbox.drawn", *names, "--sim-seed", str(seed)]
    done = subprocess.run(argv, env=environment(), capture_output=True, text=True, errors="replace", check=False)  # fmt: skip
    return done.stdout.splitlines() if done.returncode == 0 else []


def program(name: str) -> str:
    """Return the path of one of the box's own programs: "nvidia-smi", "python3"."""
    return str(home() / "simbox" / "bin" / name)


def box(state: Path, *words: str) -> str:
    """Run `python -m simbox.box`, and return what it prints. UsageError: it refuses; its words are kept."""
    argv = [sys.executable, "-m", "simbox.box", *words, "--sim-state", str(state)]
    done = ran(argv, state)
    if done.returncode != 0:
        said = (done.stderr.strip() or done.stdout.strip()).removeprefix("simbox: ")
        raise UsageError(
            tried=f"running python -m simbox.box {' '.join(words)}",
            found=one_line(said, 600) or f"it ended with {done.returncode}",
            do="tokgate sim list has the scenarios, docs/scenarios.md the knobs; another folder is --state FOLDER",
        )
    return done.stdout


def ran(argv: Sequence[str], state: Path, limit_s: float = _LIMIT_S) -> subprocess.CompletedProcess[str]:
    """Run one of the box's programs to its end. HostFault: it has none."""
    try:
        return subprocess.run(
            list(argv), env=environment(state), capture_output=True, text=True, errors="replace",
            timeout=limit_s, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise HostFault(
            tried=f"running {argv[0]}",
            found=f"no answer within {limit_s:g} s",
            do="the scenario that is played may want it so: tokgate sim status; tokgate sim mend ends it",
        ) from None


def names_in(words: Sequence[str]) -> Iterator[str]:
    """Yield scenarios from words that may hold several: NAME,NAME."""
    yield from (name.strip() for word in words for name in word.split(",") if name.strip())


def _read(file: Path) -> Played:
    try:
        text = file.read_text(encoding="utf-8")
        told = tomllib.loads(text)
    except (OSError, ValueError) as error:
        raise UsageError(
            tried=f"reading the scenario {file}", found=one_line(str(error), 300), do="mend the file"
        ) from error
    title, gate, layer = (one_line(str(told.get(key, "not said"))) for key in ("title", "gate", "layer"))
    return Played(file.stem, title, gate, layer, text)
