"""Node 0 and the further nodes of one server, watched as one: whichever dies first ends the waiting, by its name."""

from __future__ import annotations

from tokgate.errors import StartFault

from .events import Exit, State
from .followers import Follower, Followers, called, log_name, lost_its_peer
from .running import LOG_NAME, Held
from .start_failure import start_fault

# A node whose neighbour died follows within moments; who went first is asked of the others once more.
NEWS_S = 2.0


class JoinedNodes:
    """The supervisors of all nodes, as far as waiting for readiness needs them."""

    def __init__(self, first: Held, followers: Followers) -> None:
        self.first = first
        self._followers = followers
        self.dead: Follower | None = None  # the further node that ended the start; None: node 0, or nobody

    @property
    def exit(self) -> Exit | None:
        if self.dead is not None:
            return self.dead.held.link.exit
        return self.first.link.exit

    @property
    def name(self) -> str:
        """Of the node that ended the start, or did not answer any more."""
        return self.dead.name if self.dead is not None else called(0, self.first.host)

    def named(self, fault: StartFault) -> StartFault:
        """Return the fault with the node in front of it, and the name that its log has in the run folder."""
        if fault.failure is None:
            return fault
        rank = self.dead.rank if self.dead is not None else 0
        changes = {
            "headline": f"{self.name}: {fault.failure.headline}",
            "do": fault.failure.do.replace(LOG_NAME, log_name(rank)),
        }
        return start_fault(fault.failure.model_copy(update=changes), tried=fault.tried)

    def state(self, *, timeout_s: float) -> State | None:
        """Return alive: every node's process is; log_bytes: of all logs together. None: one's supervisor is silent.

        The further ones first: node 0 ends for want of them, and never the other way round without a word in its log.
        """
        alive, written = True, 0
        for one in self._followers:
            state = one.held.link.state(timeout_s=timeout_s)
            if state is None or not state.alive:
                self.dead = one
                return state
            written += state.log_bytes or 0
        state = self.first.link.state(timeout_s=timeout_s)
        if state is None:
            return None
        if not state.alive:
            self._ask_again()
            alive = False
        return State(alive, written + (state.log_bytes or 0))

    def _ask_again(self) -> None:
        """Node 0 is seen dead: see whether a further node went before it, between the two questions."""
        for one in self._followers:
            state = one.held.link.state(timeout_s=NEWS_S)
            if (state is None or not state.alive) and not lost_its_peer(one.held):
                self.dead = one
                return
