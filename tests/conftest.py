"""How the tests share two processors: which run beside each other, in which order, and which need the machine alone.

`make test` has pytest run twice. First what is marked `alone`, by no workers: sessions whose times are what is judged, several of
which overlap as it is (tests/gate, tests/scenarios); then everything else, by several.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

# Folders whose tests share something that is dear to make: a browser, a wheel, a real server. One worker has each whole.
SHARING = ("tests/engine", "tests/browser", "tests/packaging")
# What takes longest goes first, so that no worker is left with it when the others are done: roughly the seconds of these, of which
# the order alone matters. What is not named takes a few.
SECONDS = {
    "tests/engine": 130,
    "tests/packaging": 40,
    "tests/fixtures/test_report_endings.py": 40,
    "tests/docs/test_commands.py": 30,
    "tests/server/test_launch.py": 30,
    "tests/session/test_sides_checkout.py": 15,
    "tests/parsers/test_odd_input.py": 25,
    "tests/hosts/test_connection.py": 25,
    "tests/hosts/test_telemetry.py": 25,
    "tests/browser": 20,
    "tests/fixtures": 5,
    "tests/simbox": 5,
}


class WholeFiles(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no type information
    """Gives a worker whole files, or whole folders of SHARING."""

    def _split_scope(self, nodeid: str) -> str:
        return unit(nodeid)


def unit(nodeid: str) -> str:
    """Return what is given to a worker as one: a file or a folder."""
    file = nodeid.split("::", 1)[0]
    return next((folder for folder in SHARING if file.startswith(f"{folder}/")), file)


def seconds(nodeid: str) -> int:
    """Return how long the unit of a test takes, roughly."""
    whole = unit(nodeid)
    return SECONDS.get(whole, SECONDS.get(whole.rpartition("/")[0], 0))


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):
        # A gate that a test runs is none of this run's workers, and must not be told that it is one.
        for name in ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID"):
            os.environ.pop(name, None)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "playing" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.alone)
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: -seconds(item.nodeid))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadScopeScheduling:
    config.option.loadscopereorder = False  # the order is ours
    return WholeFiles(config, log)
