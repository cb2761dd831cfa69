"""How a server ends: SIGTERM drains, a dead child ends everything at once."""

from __future__ import annotations

import asyncio
import os
import signal

from simbox.engine import Engine
from simbox.processes import Tree
from simbox.server_log import ServerLog
from simbox.truth import Truth

CHILD_POLL_S = 0.1


class Lifecycle:
    """Watches signals and children of one server."""

    def __init__(
        self, *, engine: Engine, tree: Tree, truth: Truth, log: ServerLog, poll_s: float, ignore_term: bool
    ) -> None:
        self._engine, self._tree, self._truth, self._log = engine, tree, truth, log
        self._poll_s, self._ignore_term = poll_s, ignore_term
        self._leaving = False

    def install(self) -> None:
        """Take the signals over."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._term)
        loop.add_signal_handler(signal.SIGINT, self._term)
        loop.add_signal_handler(signal.SIGQUIT, self._quit)

    async def watch(self) -> None:
        """Run until it ends the process."""
        drain = asyncio.ensure_future(self._drain())
        while not drain.done():
            child = self._tree.dead()
            if child is not None and not self._leaving:
                self._log.line(
                    f"Subprocess {child.name} (pid={child.process.pid}) crashed with exit code {child.process.exitcode}. "
                    "Triggering SIGQUIT for cleanup..."
                )
                self._quit()
            await asyncio.sleep(CHILD_POLL_S)

    def crash(self, words: str) -> None:
        """A scheduler hits an exception that nothing survives."""
        tag = " TP0" if len(self._tree.children) > 2 else ""
        ServerLog(self._log.version, tag).line(
            f"Scheduler hit an exception: Traceback (most recent call last):\n  (simulated)\n{words}\n"
        )
        self._quit()

    def _term(self) -> None:
        self._log.line("SIGTERM received. signum=None frame=None. Draining requests and shutting down...")
        if not self._ignore_term:
            self._leaving = True

    def _quit(self) -> None:
        self._log.line("SIGQUIT received. signum=None, frame=None. It usually means one child failed.")
        self._truth.close()
        self._tree.kill()
        os.kill(os.getpid(), signal.SIGKILL)

    async def _drain(self) -> None:
        # As the real one, which looks every five seconds only: told to stop, it does not see it at once.
        while not self._leaving:  # noqa: ASYNC110 - polling is what is simulated
            await asyncio.sleep(self._poll_s)
        while True:
            left = [r.rid for r in self._engine.all_of_them]
            self._log.line(
                f"Gracefully exiting... Remaining number of requests {len(left)}. Remaining requests remaining_rids={left!r}."
            )
            if not left:
                break
            await asyncio.sleep(self._poll_s)
        self._truth.close()
        await asyncio.to_thread(self._tree.stop)
        # multiprocessing would wait for a leaked child at a regular exit.
        os._exit(0)
