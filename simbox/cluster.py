"""How one main process takes part in a server over several boxes; on one box it only starts the ranks."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from simbox.engine import Engine
from simbox.follower import follow
from simbox.nodes import (
    LOAD_S,
    JoinedFeed,
    Line,
    hand_over,
    join,
    peer_gone,
    tell_load,
    tell_ready,
    told_ready,
    wait_for_all,
)
from simbox.processes import StartFailedError, Tree
from simbox.rank import RankReady
from simbox.rank_life import RankPlan
from simbox.resolved import Resolved
from simbox.server_log import ServerLog
from simbox.step_feed import Feed


class Cluster:
    """This node and its lines to the others: on node 0 one to each, elsewhere the one to node 0."""

    def __init__(self, resolved: Resolved, tree: Tree) -> None:
        self._resolved = resolved
        self._tree = tree
        self._lines: list[Line] = []
        self.feed: Feed = tree.feed

    def start(self, plans: Sequence[RankPlan]) -> list[RankReady]:
        """Start this node's ranks, and return those of all nodes (of this one alone, on a further one).

        StartFailedError; NotMetError: the nodes did not find each other.
        """
        nodes, node = self._resolved.nodes, self._resolved.node
        if nodes == 1:
            ready = self._tree.start(plans)
            self.feed = self._tree.feed
            return ready
        ready = self._tree.start(plans, meet=self._meet, follower=node > 0)
        if node > 0:
            tell_ready(self._lines[0], ready)
            return ready
        for number, line in enumerate(self._lines, start=1):
            there = told_ready(line)
            if there is None:
                raise StartFailedError(
                    f"Scheduler hit an exception: Traceback (most recent call last):\n  (simulated)\n{peer_gone(line)}\nnode {number} has left"
                )
            ready += there
        self.feed = JoinedFeed(self._tree.feed, self._lines, len(plans), len(plans))
        return ready

    def follow(self, log: ServerLog) -> None:
        """Be a further node until it is over; does not come back."""
        resolved = self._resolved
        follow(
            self._lines[0], self._tree, log, node=resolved.node, ranks=len(resolved.local), args=resolved.args
        )

    def serve(self, engine: Engine, crash: Callable[[str], None]) -> None:
        """Tie the further nodes to the engine of node 0. `crash`: one of them is gone."""
        if not self._lines:
            return
        each = len(self._resolved.local)
        engine.profiler.local = each

        def elsewhere(rank: int, path: Path, content: bytes) -> None:
            hand_over(self._lines[rank // each - 1], path, content)

        engine.profiler.elsewhere = elsewhere
        self._tree.before_stop = self._stop
        loop = asyncio.get_running_loop()
        for line in self._lines:
            threading.Thread(target=self._listen, args=(line, loop, crash), daemon=True).start()
        threading.Thread(target=self._keep_told, daemon=True).start()

    def _meet(self) -> None:
        resolved, address = self._resolved, str(self._resolved.args["dist_init_addr"])

        def alive() -> bool:
            return self._tree.dead() is None

        if resolved.node == 0:
            self._lines = wait_for_all(address, resolved.nodes, alive=alive)
        else:
            self._lines = [join(address, resolved.node, alive=alive)]

    def _stop(self) -> None:
        self._tree.stopping = True
        for line in self._lines:
            line.send("stop")

    def _listen(self, line: Line, loop: asyncio.AbstractEventLoop, crash: Callable[[str], None]) -> None:
        while line.receive() is not None:
            pass
        if not self._tree.stopping:
            loop.call_soon_threadsafe(crash, peer_gone(line))

    def _keep_told(self) -> None:
        while not self._tree.stopping:
            tell_load(self._lines, self._tree.load)
            time.sleep(LOAD_S)
