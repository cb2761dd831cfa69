"""Promise: the measuring client was never the bottleneck."""

from __future__ import annotations

from tokgate.records import LaunchEvidence, Outcome, Reference, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.establish import establish_workload, invalid
from tokgate.verdicts.headroom import LIMIT, client_share
from tokgate.verdicts.shortfall import Shortfall

CHECK = "client_headroom"


def client_headroom(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Judge events per second against the ceiling this client showed on this machine, and the time it computed."""
    established = establish_workload(rig, launch, workload, check=CHECK, whole=False)
    if isinstance(established, Verdict):
        return (established,)
    found = client_share(launch, workload)
    if isinstance(found, Shortfall):
        return (invalid(CHECK, [found], launch=launch, workload=workload),)
    within = found.share <= LIMIT
    lag = f", arrival lag p99 {found.lag_p99_ms:.2f} ms" if found.lag_p99_ms is not None else ""
    return (
        Verdict(
            check=CHECK,
            outcome=Outcome.PASS if within else Outcome.INVALID,
            headline=f"client at {found.share:.1%} of its ceiling in {workload} on {launch.launch.id}"
            + ("" if within else f": more than {LIMIT:.0%}"),
            arm=launch.launch.arm,
            launch=launch.launch.id,
            workload=workload,
            value=100 * found.share,
            unit="% of its ceiling",
            n=found.events,
            reference=Reference(
                kind="truth",
                label=f"{found.ceiling:,.0f} events/s against the local null server",
                value=100.0,
            ),
            floor=f"{LIMIT:.0%} of the ceiling",
            evidence=(
                f"{found.events} events in {found.wall_s:.2f} s, {found.cpu_s:.2f} s CPU of the client{lag}",
                found.text(),
            ),
            do=None if within else "run the gate on an idle machine, or lower concurrency",
        ),
    )
