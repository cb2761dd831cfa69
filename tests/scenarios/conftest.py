"""The gates that the selected tests ask about, a few of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from .expecting import Row
from .gate_run import GateRun
from .playing import AT_ONCE, Playing
from .stories import SEEDED, STORIES


@pytest.fixture(scope="session")
def playing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playing]:
    """Begin everything that a selected test asks for, so that it overlaps."""
    items = [item for item in request.session.items if isinstance(item, pytest.Function)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        begun = Playing(pool, tmp_path_factory.mktemp("gates"))
        for item in items:
            values: dict[str, Any] = item.callspec.params if hasattr(item, "callspec") else {}
            for name in item.fixturenames:
                if name == "played":
                    begun.begin_row(values["row"])
                elif name in STORIES:
                    begun.begin(name, STORIES[name])
                elif name in SEEDED:
                    begun.begin((name, values["seed"]), _seeded(name, values["seed"]))
        yield begun


def _seeded(name: str, seed: int) -> Callable[[Path], GateRun]:
    return lambda folder: SEEDED[name](folder, seed)


def _told(playing: Playing, key: object, capsys: pytest.CaptureFixture[str]) -> GateRun:
    run = playing.told(key)
    if run.repeated is not None:
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
