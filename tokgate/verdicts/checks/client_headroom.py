"""Promise: the measuring client was never the bottleneck."""

from __future__ import annotations

from tokgate.records import LaunchEvidence, Outcome, Reference, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.establish import establish_workload, invalid
from tokgate.verdicts.shortfall import Shortfall

CHECK = "client_headroom"
LIMIT = 0.70  # beyond this share of its ceiling a client's own queueing shows in the stamps


def client_headroom(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Judge events per second against the ceiling this client showed on this machine."""
    established = establish_workload(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    load = launch.client.get(workload)
    if load is None or load.events <= 0 or load.wall_s <= 0:
        unrecorded = Shortfall(
            what="the client's own load was not recorded",
            do="measure again; the client counts its events in every workload",
        )
        return (invalid(CHECK, [unrecorded], launch=launch, workload=workload),)
    ceiling = load.ceiling_events_per_s
    if ceiling is None or ceiling <= 0:
        unknown = Shortfall(
            what="the client's ceiling on this machine is unknown",
            do="measure again: the session measures it before the first launch",
        )
        return (invalid(CHECK, [unknown], launch=launch, workload=workload),)
    rate = load.events / load.wall_s
    share = rate / ceiling
    within = share <= LIMIT
    lag = f", arrival lag p99 {load.lag_p99_ms:.2f} ms" if load.lag_p99_ms is not None else ""
    return (
        Verdict(
            check=CHECK,
            outcome=Outcome.PASS if within else Outcome.INVALID,
            headline=f"client at {share:.1%} of its ceiling in {workload} on {launch.launch.id}"
            + ("" if within else f": more than {LIMIT:.0%}"),
            arm=launch.launch.arm,
            launch=launch.launch.id,
            workload=workload,
            value=rate,
            unit="events/s",
            n=load.events,
            reference=Reference(kind="truth", label="measured ceiling of this client", value=ceiling),
            floor=f"{LIMIT:.0%} of the ceiling",
            evidence=(
                f"{load.events} events in {load.wall_s:.2f} s, {load.cpu_s:.2f} s CPU of the client{lag}",
            ),
            do=None if within else "run the gate on an idle machine, or lower concurrency",
        ),
    )
