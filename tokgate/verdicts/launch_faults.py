"""What a launch has against being judged: it did not start, it broke, it died, it was never finished."""

from __future__ import annotations

from collections.abc import Iterable

from tokgate.records import LaunchEvidence

from .environment import unproven
from .shortfall import Shortfall
from .slate import unclean


def launch_faults(launch: LaunchEvidence) -> Iterable[Shortfall]:
    """Yield every shortfall of one launch, whatever its workloads measured; the cause before what followed from it."""
    if launch.failure is not None:
        yield Shortfall(
            what=f"the server did not start: {launch.failure.headline}",
            do=launch.failure.do,
            evidence=(f"cause: {launch.failure.cause.value}", *launch.failure.evidence),
        )
        return
    if launch.left_out is not None:
        yield Shortfall(what=launch.left_out.why, do=launch.left_out.do)
        return
    if launch.slate is not None or launch.server is not None:
        yield from unclean(launch.slate)
    yield from _gone(launch)
    for fault in launch.faults:
        yield Shortfall(what=f"bench fault: {fault}", do="mend the bench, then measure again")
    if launch.stop is not None and launch.stop.survivors:
        pids = " ".join(str(p.pid) for p in launch.stop.survivors)
        yield Shortfall(
            what=f"{len(launch.stop.survivors)} processes survived the stop",
            do=f"end them by hand: kill -KILL {pids}; processes that nobody can end want a reboot",
        )
    if launch.server is None:
        yield Shortfall(what="no server was started", do="look for an error earlier in the session")
        return
    yield from unproven(launch)
    yield from _of_another_side(launch)
    if launch.liveness is None:
        yield Shortfall(
            what="the launch was never finished: nobody asked whether the server still lives",
            do="measure again; do not interrupt the session",
        )


def _of_another_side(launch: LaunchEvidence) -> Iterable[Shortfall]:
    """Yield why it is not proven that a launch ran the side of a change that it was started from."""
    side, proof = launch.launch.side, launch.ran_from
    if side is None:
        return
    if proof is None:
        yield Shortfall(
            what=f"nobody looked whether the server ran side {side} of the change",
            do="measure again; the proof is taken right after the server is ready",
        )
    elif not proof.proven:
        yield Shortfall(
            what=f"it is not proven that the server ran side {side}: {proof.why[0]}",
            do="see launch.json: the server must import sglang from the side's folder, and nobody may change that meanwhile",
            evidence=proof.why[1:],
        )


def _gone(launch: LaunchEvidence) -> Iterable[Shortfall]:
    """Before any fault that followed from it."""
    liveness = launch.liveness
    if liveness is None or (liveness.alive and liveness.answered):
        return
    state = "alive but mute" if liveness.alive else "dead"
    because = f" ({liveness.why})" if liveness.why else ""
    yield Shortfall(
        what=f"the server was {state} after the last generation{because}",
        do=f"read {log_of_the_end(launch)}",
    )


def log_of_the_end(launch: LaunchEvidence) -> str:
    """Return the log that tells how a server ended: of a server over several hosts that of the node which ended it."""
    why = (launch.liveness.why if launch.liveness is not None else None) or ""
    nodes = launch.server.nodes if launch.server is not None else ()
    # As server/followers.py begins what it says of a node.
    own = (one.log_file for one in nodes if why.startswith(f"node {one.node} ({one.host}): "))
    return next(own, f"launches/{launch.launch.id}/server.log")
