"""One fixture per story, named as the story is."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from . import change_stories, stories
from .change_stories import Changed
from .namespaces import why_not
from .stand import stand
from .stories import Ended, Lost


@pytest.fixture(scope="session")
def namespaces() -> None:
    """Hosts of a fleet can be made here; where not, the test is skipped with the reason."""
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)


@pytest.fixture(scope="session")
def lost(namespaces: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lost]:
    with stand(tmp_path_factory.mktemp("lost"), ["a", "b", "c", "d"]) as made:
        yield stories.lose_hosts(made)


@pytest.fixture(scope="session", params=["SIGKILL", "SIGINT"])
def ended(
    request: pytest.FixtureRequest,
    namespaces: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Ended]:
    with stand(tmp_path_factory.mktemp("ended"), ["a", "b"]) as made:
        yield stories.end_controller(made, signal.Signals[request.param], stopped=request.param == "SIGINT")


@pytest.fixture(scope="session")
def changed(namespaces: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Changed]:
    with stand(tmp_path_factory.mktemp("changed"), ["a", "b", "c"]) as made:
        yield change_stories.measure_a_change(made)
