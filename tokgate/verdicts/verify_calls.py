"""How many verify calls the probe saw, against those that the server's answers count (`spec_verify_ct`)."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import LaunchEvidence
from tokgate.records.phases import PhaseReading
from tokgate.records.record import Record

# Less is no loss: a call that began just outside a start's first request and last byte is not counted, one a start.
MISSED = 0.02


class VerifyCalls(Record):
    counted: int  # the fewest calls of the judged starts, by the answers; 0: they count none
    seen: tuple[int, ...]  # by the probe, of each rank
    starts: int

    @property
    def words(self) -> str | None:
        """Say both numbers; None where one of them is not known."""
        if not self.seen or not self.counted:
            return None
        few, most = min(self.seen), max(self.seen)
        saw = f"{few} to {most}" if few < most else str(few)
        ranks = f" of a rank ({len(self.seen)} ranks)" if len(self.seen) > 1 else ""
        return f"the probe saw {saw} verify calls{ranks}, the answers count {self.counted} (spec_verify_ct)"

    @property
    def missed(self) -> str | None:
        """Return what to doubt where a rank's calls are fewer than there were by more than the edges of its starts."""
        lost = self.counted - min(self.seen, default=self.counted)
        if self.words is None or lost <= max(self.starts, MISSED * self.counted):
            return None
        return f"{self.words}: {lost / self.counted:.1%} are missing, and p50 and p95 are of the others"


def verify_calls(launch: LaunchEvidence, workload: str, probe: Sequence[PhaseReading]) -> VerifyCalls:
    """Count the calls of the judged starts. `probe`: one reading of verify a rank.

    One pass serves all requests of its batch and each of them counts it, so a start had at least as many calls as the
    answer with the most counts; of one stream exactly so many. Where several data-parallel groups share the requests,
    nothing is known of any one of them.
    """
    groups = launch.server.server_info.get("dp_size") if launch.server is not None else None
    if isinstance(groups, int) and groups > 1:
        return VerifyCalls(counted=0, seen=(), starts=0)
    counts: dict[int, int] = {}
    for g in launch.generations:
        spec = g.counters.spec if g.counters is not None else None
        if g.workload == workload and not g.warmup and spec is not None and spec.verify_ct is not None:
            counts[g.batch] = max(spec.verify_ct, counts.get(g.batch, 0))
    seen = tuple(sum(s.n for s in r.starts if s.batch in counts) for r in probe if r.starts)
    return VerifyCalls(counted=sum(counts.values()), seen=seen, starts=len(counts))
