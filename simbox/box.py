"""The box itself: what a reboot keeps and changes, which scenario is played, who squats on its GPUs.

    python -m simbox.box up [--sim-state DIR] [--sim-scenario NAME ...]   before anything is measured
    python -m simbox.box down [--sim-state DIR]                           ends stray processes, empties the ledger
    python -m simbox.box scenarios                                        the list, each with its sentence

The state folder is SIMBOX_STATE or, without it, /tmp/simbox-UID. A server, an
nvidia-smi or a bin/python3 that finds no box there puts one up. A reboot (knob `boots`) changes what the driver
shows (power limit, persistence mode, a link's width); the kernel below is this machine's, and its boot id stays.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simbox import environment, ledger
from simbox.scenario import FOLDER, Scenario, ScenarioError, known, load

# Lies in every state folder: nothing is ever changed or removed in a folder without it.
MARK = "simbox-state"
# Truth files of earlier server starts, some 0.4 MB each in a gate session.
RUNS_KEPT = 40


class StateError(Exception):
    """A state folder that cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class Box:
    """A box that is up."""

    state: Path
    scenario: Scenario


def default_state() -> Path:
    """Return SIMBOX_STATE or the folder used without it."""
    # Not tempfile's folder: a server's environment is closed, and TMPDIR need not reach it.
    return Path(os.environ.get("SIMBOX_STATE") or f"/tmp/simbox-{os.getuid()}")  # noqa: S108 - see above


def up(state: Path, names: Sequence[str] = (), seed: int | None = None) -> Box:
    """Put the box up, or find it up. `names` empty: the scenario it was put up with.

    ScenarioError: it cannot be played. NoEnvironmentError: this Python lacks what the box needs.
    StateError: the folder is somebody else's, or cannot be written.
    """
    _own(state)
    with _locked(state):
        before = _read(state)
        first = before is None
        known_as: dict[str, Any] = before or {"scenarios": [], "seed": 0}
        now = tuple(names) or tuple(known_as["scenarios"])
        seed = seed if seed is not None else int(known_as["seed"])
        scenario = load(now, seed=seed)
        if first or (names and not known_as["scenarios"]):
            # By absolute path, so that a server in another folder finds the same file.
            paths = [str(Path(n).resolve()) if "/" in n or n.endswith(".toml") else n for n in now]
            environment.make(state, scenario.knobs.tree)
            _write(state, {"scenarios": paths, "seed": seed})
            _occupy(state, scenario)
        elif not environment.is_sound(state):
            environment.make(state, load(known_as["scenarios"], seed=seed).knobs.tree)
    return Box(state, scenario)


def next_start(state: Path) -> int:
    """Count one more server start; the first in this folder is 1, and taking the box down does not start over."""
    with _locked(state):
        file = state / "starts"
        count = int(file.read_text(encoding="utf-8")) + 1 if file.exists() else 1
        file.write_text(str(count), encoding="utf-8")
        for old in sorted((state / "runs").glob("*"))[:-RUNS_KEPT]:
            shutil.rmtree(old, ignore_errors=True)
        return count


def down(state: Path) -> list[int]:
    """End every process that the ledger knows, and forget the box. Returns the pids that were ended.

    StateError: the folder holds something else than a box's state.
    """
    ended: list[int] = []
    if not state.exists():
        return ended
    _own(state)
    for pid, ticks in set(ledger.all_pids(state)):
        if ledger.start_ticks(pid) == ticks:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
                ended.append(pid)
    files = (state / "guest", state / "invitation", state / "box.json")
    for file in (*(state / "holders").glob("*"), *(state / "telemetry").glob("*"), *files):
        file.unlink(missing_ok=True)
    return ended


def send_squatter(state: Path, *, gpu: int, mib: int, life_s: float, kind: str = "living") -> None:
    """Start somebody else's process on a GPU: detached, and with nothing of our environment.

    `kind`: "living"; "zombie"; "invited", which takes nothing before STATE/invitation is there.
    """
    plain = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "TZ")}
    command = [
        sys.executable,
        "-m",
        "simbox.squatter",
        str(state),
        str(gpu),
        str(mib),
        str(life_s),
        kind,
    ]
    # It comes back at once: the process that stays is its child, already adopted by PID 1.
    subprocess.run(
        command,
        env=plain | {"PYTHONPATH": str(environment.CHECKOUT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        timeout=30,
        check=False,
    )


def _occupy(state: Path, scenario: Scenario) -> None:
    knobs = scenario.knobs
    if knobs.foreign_at_request:
        # Here already, though it takes nothing yet: what a server starts is found among its descendants and ended
        # with it, wherever it goes, and would be nobody else's.
        send_squatter(
            state, gpu=knobs.foreign_gpu, mib=knobs.leftover_mib, life_s=knobs.stray_life_s, kind="invited"
        )
        (state / "guest").touch()
    if knobs.leftover_gpu < 0:
        return
    if knobs.leftover_owner == "none":
        holder = ledger.Holder(knobs.leftover_gpu, 0, 0, knobs.leftover_mib, "", ledger.NEVER)
        ledger.claim(state, holder)
    else:
        send_squatter(
            state,
            gpu=knobs.leftover_gpu,
            mib=knobs.leftover_mib,
            life_s=knobs.stray_life_s,
            kind=knobs.leftover_owner,
        )


@contextlib.contextmanager
def held(state: Path) -> Iterator[None]:
    """Keep the box to one session. StateError: another one has it."""
    _own(state)
    with (state / "session").open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise StateError(
                f"the box in {state} is in use by another session: name another folder"
            ) from error
        yield


def _own(state: Path) -> None:
    """Make the folder a box's state, or find it one. StateError."""
    try:
        state.mkdir(parents=True, exist_ok=True)
        # In this order: beside another process that makes the same folder, it is seen empty or marked.
        empty = not any(state.iterdir())
        if not empty and not (state / MARK).is_file() and _read(state) is None:
            raise StateError(
                f"{state} holds something else than a simulated box: name an empty folder, or remove it"
            )
        (state / MARK).touch()
        (state / ".gitignore").write_text("*\n", encoding="utf-8")  # it may lie in somebody's repository
    except OSError as error:
        raise StateError(
            f"{state} cannot hold a simulated box: {error.strerror}: name another folder"
        ) from error


@contextlib.contextmanager
def _locked(state: Path) -> Iterator[None]:
    with (state / "lock").open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _read(state: Path) -> dict[str, Any] | None:
    try:
        content = json.loads((state / "box.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and {"scenarios", "seed"} <= content.keys() else None


def _write(state: Path, content: object) -> None:
    (state / "box.json").write_text(json.dumps(content), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m simbox.box")
    parser.add_argument("do", choices=("up", "down", "scenarios"))
    parser.add_argument("--sim-state", type=Path, default=default_state())
    parser.add_argument("--sim-scenario", action="append", default=[])
    parser.add_argument("--sim-seed", type=int)
    asked = parser.parse_args()
    if asked.do == "scenarios":
        for name in known():
            print(
                f"{name:28} {tomllib.loads((FOLDER / f'{name}.toml').read_text(encoding='utf-8'))['title']}"
            )
    elif asked.do == "down":
        try:
            print(f"ended: {down(asked.sim_state) or 'nobody'}")
        except StateError as error:
            sys.exit(f"simbox: {error}")
    else:
        try:
            box = up(asked.sim_state, asked.sim_scenario, asked.sim_seed)
        except (ScenarioError, StateError, environment.NoEnvironmentError) as error:
            sys.exit(f"simbox: {error}")
        print(f"SIMULATED box up in {box.state}, scenarios: {', '.join(box.scenario.names) or 'none'}")


if __name__ == "__main__":
    main()
