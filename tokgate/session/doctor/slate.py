"""Is the machine free: its lease, what earlier gates left, the port, and what the login itself would pass to a server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.hosts.leftovers import WAITING, judge_processes, leftovers_in
from tokgate.hosts.ports import look_at_port
from tokgate.records import Finding
from tokgate.records.doctor import Remark
from tokgate.rig.models import Rig
from tokgate.rig.sizes import gpus_needed
from tokgate.server.port import port_and_environment, written_port
from tokgate.server.readiness import GaveUp

from .check import Case, Check
from .readings import facts, lease_holder, table

_VISIBLE = "CUDA_VISIBLE_DEVICES"


def remark_of(finding: Finding) -> Remark:
    """Return a finding as the gate takes it: what is unclean stops it, and so does what cannot be seen."""
    if finding.severity == "note":
        return Remark.note(finding.what, finding.do)
    return Remark.fail(finding.what, finding.do)


def lease(case: Case) -> Iterator[Remark]:
    holder = lease_holder(case)
    if holder is None:
        yield Remark.ok("nobody holds it")
        return
    yield Remark.fail(
        f"{holder.owner} has held it since {holder.since} (pid {holder.pid} of {holder.where}, heard of "
        f"{holder.heard_s_ago:.0f} s ago)",
        f"wait until that gate is done, which {WAITING} does",
    )


def leftovers(case: Case) -> Iterator[Remark]:
    holder = lease_holder(case)
    seen = table(case)
    # Who holds the lease is told by its own check.
    left = leftovers_in(seen, holder, frozenset())
    found = judge_processes(seen, left, None, frozenset(), cpu_rig=case.rig.gpus.count == 0)
    remarks = [remark_of(f) for f in found]
    yield from remarks or [Remark.ok("no process of an earlier gate, no other server in its way")]


def port(case: Case) -> Iterator[Remark]:
    wanted = written_port(case.rig)
    if wanted is None:
        yield Remark.ok("every start gets a free one")
        return
    found = look_at_port(case.host, wanted, table(case))
    yield from [remark_of(f) for f in found] or [Remark.ok(f"port {wanted} is free")]


def passed_on(case: Case) -> Iterator[Remark]:
    # Of an arm only the port could differ, and with "free" nothing is tried.
    rig = case.rig.model_copy(update={"server": case.rig.server.model_copy(update={"port": "free"})})
    found = port_and_environment(case.host, rig, rig.control)
    if isinstance(found, GaveUp):
        yield Remark.unknown(found.detail)
        return
    yield from judge_passed_on(case.rig, found["environment"])


def judge_passed_on(rig: Rig, environment: dict[str, str]) -> Iterator[Remark]:
    """`environment`: what the host's login has of the variables that the rig passes on."""
    hidden = environment.get(_VISIBLE)
    needed = max((gpus_needed(rig, arm) or 0 for arm in rig.arms), default=0) if rig.gpus.count else 0
    seen = None if hidden is None else len([d for d in hidden.split(",") if d.strip() not in ("", "-1")])
    if seen is not None and seen < needed and _VISIBLE not in rig.server.environment:
        yield Remark.fail(
            f"the login has {_VISIBLE}={hidden!r}, and the rig passes it on: {seen} GPUs for the {needed} that are asked for",
            f"unset it for the login, or take {_VISIBLE} out of server.pass_environment",
        )
        return
    libraries = environment.get("LD_LIBRARY_PATH")
    if libraries:
        yield Remark.note(
            f"the login's LD_LIBRARY_PATH reaches the server: {libraries[:200]}",
            "write it into server.environment if it belongs to the rig, so that every login starts the same server",
        )
    else:
        yield Remark.ok(f"only {', '.join(sorted(environment)) or 'nothing'} of the login reaches the server")


def traces(case: Case) -> Iterator[Remark]:
    """Notes of the fingerprint: what debugging has left behind, abandoned launches."""
    yield from told_notes(facts(case).notes)


def told_notes(notes: Sequence[Finding]) -> Iterator[Remark]:
    if not notes:
        yield Remark.ok("no start-up hook of unknown origin, no NCCL file, no abandoned launch")
    for found in notes:
        yield Remark.note(found.what, found.do)


CHECKS = (
    Check("host.lease", "whether another gate holds the host", "exit 11: the host is leased", lease),
    Check(
        "host.leftovers",
        "whether processes of earlier gates or other servers are still there",
        "exit 11: the machine is not clean",
        leftovers,
    ),
    Check("host.port", "whether the server's port is free", "a start that ends with port-taken", port),
    Check(
        "host.environment",
        "what of the login's own environment reaches the server",
        "a server that sees fewer GPUs than the rig says",
        passed_on,
    ),
    Check(
        "host.traces",
        "what earlier debugging has left behind",
        "a server that runs other code, or NCCL settings, than the rig says",
        traces,
        limit_s=60.0,
    ),
)
