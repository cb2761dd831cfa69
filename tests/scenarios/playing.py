"""Gates played beside each other, each once however many tests ask about it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from .expecting import Row
from .gate_run import GateRun, play

AT_ONCE = 3  # a session mostly sleeps: in its server, and in the client that waits for it


class Playing:
    """Plays every scenario once, however many tests ask."""

    def __init__(self, pool: ThreadPoolExecutor, folder: Path) -> None:
        self._pool, self._folder = pool, folder
        self._number = itertools.count(1)
        self._played: dict[object, Future[GateRun]] = {}
        self._said: set[object] = set()

    def begin(self, key: object, play_it: Callable[[Path], GateRun]) -> None:
        """Have `play_it` called with an empty folder; its path tells nothing of what is played."""
        if key not in self._played:
            folder = self._folder / f"{next(self._number):03d}"
            self._played[key] = self._pool.submit(play_it, folder)

    def begin_row(self, row: Row) -> None:
        self.begin(row.scenario, lambda folder: _played(row, folder))

    def first_told(self, key: object) -> bool:
        """Say whether this is the first time that anybody asks this of `key`."""
        first = key not in self._said
        self._said.add(key)
        return first

    def told(self, key: object) -> GateRun:
        return self._played[key].result()


def _played(row: Row, folder: Path) -> GateRun:
    if not row.timed:
        return play(folder, [row.scenario], "-k", row.select, settings=row.settings)
    return on_time(
        lambda attempt: play(folder / attempt, [row.scenario], "-k", row.select, settings=row.settings)
    )


def on_time(play_it: Callable[[str], GateRun]) -> GateRun:
    """Play it, and once more where the box itself was late: that is the machine's fault and no finding.

    AssertionError when it is late again.
    """
    first = play_it("first")
    if not first.late:
        return first
    why = "; ".join(first.late)
    second = play_it("second")
    assert not second.late, (
        f"twice in a row the machine was too busy for the box: {why}; {'; '.join(second.late)}"
    )
    return replace(second, repeated=why)
