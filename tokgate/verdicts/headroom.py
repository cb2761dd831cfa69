"""How far the measuring client was from its own ceiling, measured against the local null server."""

from __future__ import annotations

from tokgate.records import LaunchEvidence
from tokgate.records.record import Record

from .shortfall import Shortfall

LIMIT = 0.70  # beyond this share of its ceiling a client's own queueing shows in the stamps
_DO = "run the gate on an idle machine, or lower concurrency"


class ClientShare(Record):
    """Where the client stood in one workload of one launch."""

    rate: float  # events a second
    ceiling: float  # the same, at which it would use one whole core
    core: float  # the share of one core that it did use
    events: int
    wall_s: float
    cpu_s: float
    lag_p99_ms: float | None

    @property
    def share(self) -> float:
        """Of its ceiling, by the worse of two accounts: events that arrived, and time that it computed.

        On a busy machine an event costs more than it did when the ceiling was measured; the second account knows.
        """
        return max(self.rate / self.ceiling, self.core)

    def text(self) -> str:
        return (
            f"client at {self.share:.1%} of its ceiling ({self.rate:,.0f} of {self.ceiling:,.0f} events/s against a "
            f"server that does nothing, {self.core:.1%} of a core)"
        )


def client_share(launch: LaunchEvidence, workload: str) -> ClientShare | Shortfall:
    """Return where the client stood, or why that is unknown."""
    load = launch.client.get(workload)
    if load is None or load.events <= 0 or load.wall_s <= 0:
        return Shortfall(
            what="the client's own load was not recorded",
            do="measure again; the client counts its events in every workload",
        )
    ceiling = load.ceiling_events_per_s
    if ceiling is None or ceiling <= 0:
        return Shortfall(
            what="the client's ceiling on this machine is unknown",
            do="measure again: the session measures it before the first launch",
        )
    return ClientShare(
        rate=load.events / load.wall_s,
        ceiling=ceiling,
        core=max(load.cpu_s, 0.0) / load.wall_s,
        events=load.events,
        wall_s=load.wall_s,
        cpu_s=load.cpu_s,
        lag_p99_ms=load.lag_p99_ms,
    )


def at_its_ceiling(launch: LaunchEvidence, workload: str) -> Shortfall | None:
    """Return what is wrong where the client was near its ceiling, or where nobody knows."""
    found = client_share(launch, workload)
    if isinstance(found, Shortfall):
        return found
    if found.share <= LIMIT:
        return None
    return Shortfall(
        what=f"the client was the limit in {workload}: {found.text()}, more than {LIMIT:.0%}", do=_DO
    )
