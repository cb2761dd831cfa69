"""Puts a fresh box up for one pytest run: `pytest perf_tests --sim-scenario NAME|PATH`.

Whoever measures must not know what is played, so only the box's state folder is told, as an override of the rig's own
`host.environment.SIMBOX_STATE`. This plugin knows pytest's options and the text of a rig file, and nothing else of
the program it serves.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import pytest

from simbox.box import StateError, down, held, up
from simbox.environment import NoEnvironmentError
from simbox.scenario import ScenarioError, load

OPTIONS = ("--sim-scenario", "--sim-seed", "--sim-state")
_PUT_UP = pytest.StashKey[Path]()
_HELD = pytest.StashKey[contextlib.ExitStack]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("simbox", "simbox, the simulated box")
    group.addoption(
        "--sim-scenario",
        action="append",
        default=[],
        metavar="NAME|PATH",
        help="play this scenario on a fresh simulated box, e.g. incident (`tokgate sim list`); several: NAME,NAME or repeated",
    )
    group.addoption(
        "--sim-seed",
        type=int,
        metavar="N",
        help="the seed of all that the simulated box draws, e.g. 7 (default: 0)",
    )
    group.addoption(
        "--sim-state",
        metavar="FOLDER",
        help="keep the fresh simulated box here, truth files included, e.g. /tmp/box (default: a temporary folder)",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_unrecorded_options() -> tuple[str, ...]:
    """Name the options that whoever records this run's command line leaves out."""
    return OPTIONS


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # Before the rig is read: of plugins that want to be first, the one that was registered last is.
    worker: dict[str, Any] | None = getattr(config, "workerinput", None)
    if worker is None:
        if _wanted(config):
            _put_up(config)
    elif "simbox_state" in worker:
        _tell(config, worker["simbox_state"])


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell an xdist worker which box it shares."""
    state = node.config.stash.get(_PUT_UP, None)
    if state is not None:
        node.workerinput["simbox_state"] = str(state)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how to play it again: whoever measured could not, and leaves the options out of what it prints."""
    if config.stash.get(_PUT_UP, None) is not None:
        again = shlex.join(["pytest", *config.invocation_params.args])
        terminalreporter.write_line(f"simbox: on a fresh box; to play it again: {again}")


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    state = config.stash.get(_PUT_UP, None)
    if state is not None:
        down(state)
        config.stash[_HELD].close()
        if not config.option.sim_state:
            shutil.rmtree(state, ignore_errors=True)


def _wanted(config: pytest.Config) -> bool:
    option = config.option
    return bool(option.sim_scenario or option.sim_state or option.sim_seed is not None) and not option.help


def _put_up(config: pytest.Config) -> None:
    names = tuple(n.strip() for part in config.option.sim_scenario for n in part.split(",") if n.strip())
    here = config.invocation_params.dir
    if config.option.sim_scenario and not names:
        raise pytest.UsageError("--sim-scenario without a name; `python -m simbox.box scenarios` lists them")
    names = tuple(str(Path(here, n).absolute()) if n.endswith(".toml") or "/" in n else n for n in names)
    _need_a_box(config)
    try:
        load(names, seed=config.option.sim_seed or 0)
        if config.option.collectonly:
            return
        kept = config.option.sim_state
        # No word of the scenario in the folder's name: it is known to those who measure.
        state = Path(here, kept).absolute() if kept else Path(tempfile.mkdtemp(prefix="simbox-"))
        config.stash[_HELD] = contextlib.ExitStack()
        config.stash[_HELD].enter_context(held(state))
        down(state)
        config.stash[_PUT_UP] = state
        up(state, names, config.option.sim_seed or 0)
    except (ScenarioError, StateError, NoEnvironmentError) as error:
        raise pytest.UsageError(f"simbox: {error}") from error
    _tell(config, str(state))


def _tell(config: pytest.Config, state: str) -> None:
    config.option.rig_set = [*config.option.rig_set, f"host.environment.SIMBOX_STATE={state}"]


def _need_a_box(config: pytest.Config) -> None:
    """Refuse a rig that would measure something else than the box."""
    if getattr(config.option, "rejudge", None):
        raise pytest.UsageError("--sim-scenario beside --rejudge: a stored run is judged, no box is asked")
    name = getattr(config.option, "rig", None) or _default_rig(config.rootpath)
    file = (
        config.invocation_params.dir / name
        if name.endswith(".toml") or "/" in name
        else config.rootpath / "rigs" / f"{name}.toml"
    )
    rig = _read(file)
    # A file that cannot be read is refused by whoever reads it for good, and in better words.
    if rig is not None and not (
        rig.get("simulated") is True and "SIMBOX_STATE" in rig.get("host", {}).get("environment", {})
    ):
        raise pytest.UsageError(
            f"--sim-scenario with the rig {name}: it does not use the simulated box "
            f"(simulated = true and host.environment.SIMBOX_STATE), so no scenario could be played on it; "
            f"leave the option out, or choose another rig: --rig sim-8gpu"
        )


def _default_rig(root: Path) -> str:
    read = _read(root / "pyproject.toml") or {}
    return str(read.get("tool", {}).get("tokgate", {}).get("default_rig", ""))


def _read(file: Path) -> dict[str, Any] | None:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError):
        return None
