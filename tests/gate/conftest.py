"""One fixture per story, named as the story is."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import Any, TypeVar, cast

import pytest

from . import stories
from .checkout import Checkout, GateRun
from .stories import Green, Interrupted, Killed, OpenCheckout, Usage

T = TypeVar("T")
AT_ONCE = 3  # each waits a lot: for tokens, for limits to pass


class Playing:
    def __init__(self, pool: ThreadPoolExecutor, opened: OpenCheckout) -> None:
        self._pool = pool
        self._opened = opened
        self._told: dict[Callable[[OpenCheckout], Any], Future[Any]] = {}

    def begin(self, story: Callable[[OpenCheckout], Any]) -> None:
        if story not in self._told:
            self._told[story] = self._pool.submit(story, self._opened)

    def told(self, story: Callable[[OpenCheckout], T]) -> T:
        self.begin(story)
        return cast("T", self._told[story].result())


@pytest.fixture(scope="session")
def playing(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Playing]:
    """Begin every story that a selected test asks for, so that they overlap."""
    folder, number = tmp_path_factory.mktemp("gate"), itertools.count()

    def opened(arms: Mapping[str, str], *, pair: bool = False) -> AbstractContextManager[Checkout]:
        root = folder / f"checkout{next(number)}"
        root.mkdir()
        return stories.open_checkout(root, arms, pair=pair)

    wanted = {name for item in request.session.items for name in getattr(item, "fixturenames", ())}
    with ThreadPoolExecutor(AT_ONCE) as pool:
        told = Playing(pool, opened)
        for story in stories.STORIES:
            if story.__name__ in wanted:
                told.begin(story)
        yield told


@pytest.fixture(scope="session")
def green(playing: Playing) -> Green:
    return playing.told(stories.green)


@pytest.fixture(scope="session")
def failing(playing: Playing) -> GateRun:
    return playing.told(stories.failing)[0]


@pytest.fixture(scope="session")
def failing_judged_again(failing: GateRun, playing: Playing) -> GateRun:
    return playing.told(stories.failing)[1]


@pytest.fixture(scope="session")
def no_good(playing: Playing) -> GateRun:
    return playing.told(stories.no_good)


@pytest.fixture(scope="session")
def refused(playing: Playing) -> dict[str, GateRun]:
    return playing.told(stories.refused)


@pytest.fixture(scope="session")
def killed(playing: Playing) -> Killed:
    return playing.told(stories.killed)


@pytest.fixture(scope="session")
def interrupted(playing: Playing) -> dict[str, Interrupted]:
    return playing.told(stories.interrupted)


@pytest.fixture(scope="session")
def usage(playing: Playing) -> Usage:
    return playing.told(stories.usage)
