"""The gates that the selected tests ask about, a few of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from .expecting import Row
from .gate_run import GateRun
from .harm import Harm
from .harm import harmed as harmed_probe
from .phase_stories import Plant
from .phase_stories import planted as planted_phases
from .playing import AT_ONCE, Playing
from .stories import SEEDED, STORIES


@pytest.fixture(scope="session")
def playing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playing]:
    """Begin everything that a selected test of this folder asks for, so that it overlaps."""
    here = Path(__file__).parent
    items = [i for i in request.session.items if isinstance(i, pytest.Function) and here in i.path.parents]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        begun = Playing(pool, tmp_path_factory.mktemp("gates"))
        for item in items:
            values: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
            for name in item.fixturenames:
                if name == "played":
                    begun.begin_row(values["row"])
                elif name in STORIES:
                    begun.begin(name, STORIES[name])
                elif name == "planted":
                    begun.begin(("planted", values["plant"]), _planted(values["plant"]))
                elif name == "harmed":
                    begun.begin(("harmed", values["harm"]), _harmed(values["harm"]))
                elif name in SEEDED:
                    begun.begin((name, values["seed"]), _seeded(name, values["seed"]))
        yield begun


def _seeded(name: str, seed: int) -> Callable[[Path], GateRun]:
    return lambda folder: SEEDED[name](folder, seed)


def _planted(plant: Plant) -> Callable[[Path], GateRun]:
    return lambda folder: planted_phases(folder, plant)


def _harmed(harm: Harm) -> Callable[[Path], GateRun]:
    return lambda folder: harmed_probe(folder, harm)


def _told(playing: Playing, key: object, capsys: pytest.CaptureFixture[str]) -> GateRun:
    run = playing.told(key)
    if run.repeated is not None and playing.first_told(key):
        with capsys.disabled():
            print(f"\n{key} was played twice, the box was late: {run.repeated}")
    return run


@pytest.fixture
def played(playing: Playing, row: Row, capsys: pytest.CaptureFixture[str]) -> GateRun:
    """Return the session of the test's row."""
    return _told(playing, row.scenario, capsys)


@pytest.fixture
def both(playing: Playing, seed: int) -> GateRun:
    return playing.told(("both", seed))


@pytest.fixture
def drawn_loss(playing: Playing, seed: int, capsys: pytest.CaptureFixture[str]) -> GateRun:
    return _told(playing, ("drawn_loss", seed), capsys)


@pytest.fixture
def phases(playing: Playing, capsys: pytest.CaptureFixture[str]) -> GateRun:
    """Return the session on phases in good health."""
    return _told(playing, "phases", capsys)


@pytest.fixture
def planted(playing: Playing, plant: Plant, capsys: pytest.CaptureFixture[str]) -> GateRun:
    """Return the same with phases of other lengths."""
    return _told(playing, ("planted", plant), capsys)


@pytest.fixture
def harmed(playing: Playing, harm: Harm) -> GateRun:
    """Return the session whose probe had a bad day."""
    return playing.told(("harmed", harm))


@pytest.fixture
def costs(playing: Playing) -> GateRun:
    """Return the session on a change that delays verify."""
    return playing.told("costs")


@pytest.fixture
def nothing(playing: Playing) -> GateRun:
    """Return the session on a change that changes nothing."""
    return playing.told("nothing")


@pytest.fixture
def breaks(playing: Playing) -> GateRun:
    """Return the session on a change that breaks the start."""
    return playing.told("breaks")
