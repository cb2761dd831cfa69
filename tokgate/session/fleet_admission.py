"""Which hosts of a pool take part: each is looked at as a doctor would, then all are held against each other.

A host that fails is left out by name, with the reason and what mends it; the others go on. Nothing is measured yet, and
no lease is taken: a host that another gate holds now is admitted, and waited for by whoever wants it.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tokgate.errors import GateError
from tokgate.hosts.connection import connect
from tokgate.hosts.fingerprint import fingerprint
from tokgate.hosts.lease import LeaseHolder, holder_of
from tokgate.records import Difference
from tokgate.records.doctor import Examined, State
from tokgate.records.fleet import HostSeen, HostState
from tokgate.rig.models import Rig
from tokgate.rig.pool import PoolHost, rig_on
from tokgate.rig.sides import SidesSpec

from .doctor.checks import CHECKS
from .doctor.examine import examine
from .machines import machine_of
from .rig_secrets import redactor_of

# Of the doctor's checks: what would end a session on that host, or make its numbers somebody else's.
_ASKED = frozenset(
    (
        "host.tunnel", "host.leftovers", "host.port", "host.work_dir", "host.clock",
        "gpus.clean", "gpus.health", "gpus.errors", "gpus.alike",
        "sglang.python", "sglang.installed", "models.target", "models.drafts",
    )
)  # fmt: skip
# What nobody could see counts as what must not be there.
_MUST_BE_SEEN = frozenset(("gpus.clean", "sglang.python"))
# What a gate at work there explains.
_OF_A_HOLDER = frozenset(("host.leftovers", "gpus.clean", "host.port"))
# Two hosts are one fleet only with the same of these: their numbers stand in one table.
_SHARED = (
    "sglang.version", "sglang.commit", "sglang.dirty", "sglang.changed",
    "package.torch", "package.sgl_kernel", "package.flashinfer", "package.nccl", "package.triton",
    "package.transformers", "package.cuda_runtime",
    "gpu.0.name", "gpu.0.driver_version", "gpu.0.power.limit", "gpu.0.mig.mode.current",
    "model.config_sha256", "model.weights",
)  # fmt: skip
# What a session on a change of a checkout does not run: its sides are compared when they are made (fleet_trees.py).
_OF_NO_SIDE = frozenset(("sglang.commit", "sglang.dirty", "sglang.changed"))
# May differ, and may be why hosts lie apart: told.
_TOLD = ("host.cpu", "host.kernel", "host.os", "host.cpu_governor", "host.container", "gpu.topology")
# Says of two addresses whether they are one machine.
MACHINE, BOOT = "machine", "host.boot_id"
_AT_ONCE = 8
_WORDS = 400  # characters of a reason


def admit(rig: Rig, pool: Sequence[PoolHost], *, root: Path, reports: Path) -> tuple[HostSeen, ...]:
    """Look at all hosts at once and return them in the pool's order. Never raises for a host."""
    with ThreadPoolExecutor(max_workers=_AT_ONCE, thread_name_prefix="admission") as several:
        seen = tuple(several.map(lambda host: _probed(rig_on(rig, host), host, root, reports), pool))
    return alike(seen, shared=_shared(rig.sides))


def _shared(sides: SidesSpec | None) -> tuple[str, ...]:
    """Return what hosts must share; where both sides are trees of a checkout, not the state of what is installed."""
    if sides is None or not (sides.repository or sides.base or not sides.patches):
        return _SHARED
    return tuple(key for key in _SHARED if key not in _OF_NO_SIDE)


def alike(seen: Sequence[HostSeen], *, shared: Sequence[str] = _SHARED) -> tuple[HostSeen, ...]:
    """Leave out hosts that differ from most others in what a fleet must share; of a tie, those behind in the pool."""
    admitted = [host for host in seen if host.state is HostState.ADMITTED]
    if not admitted:
        return tuple(seen)
    counts = Counter(_kind(host, shared) for host in admitted)
    # max returns the first of equals: that of the earliest host.
    usual = next(h for h in admitted if _kind(h, shared) == max(counts, key=lambda kind: counts[kind]))
    told = [_beside(host, usual, shared) if host.state is HostState.ADMITTED else host for host in seen]
    return tuple(_or_one_with(host, told[:number]) for number, host in enumerate(told))


def _kind(host: HostSeen, shared: Sequence[str]) -> tuple[str | None, ...]:
    return tuple(host.facts.get(key) for key in shared)


def _beside(host: HostSeen, usual: HostSeen, shared: Sequence[str]) -> HostSeen:
    def apart(keys: Sequence[str]) -> tuple[Difference, ...]:
        return tuple(
            Difference(key=key, before=usual.facts.get(key), now=host.facts.get(key))
            for key in keys
            if usual.facts.get(key) != host.facts.get(key)
        )

    told = tuple(f"{d.key} is {d.now}, that of {usual.name} is {d.before}" for d in apart(_TOLD))
    against = apart(shared)
    if not against:
        return host.model_copy(update={"notes": (*host.notes, *told)})
    words = "; ".join(f"{d.key} is {d.now}, not {d.before} as on {usual.name}" for d in against)
    return host.model_copy(
        update={
            "state": HostState.LEFT_OUT,
            "why": f"it is not as the others are: {words}"[:_WORDS],
            "do": f"make it as {usual.name} is, or measure it in a rig of its own",
            "differs": against,
            "notes": (*host.notes, *told),
        }
    )


def _or_one_with(host: HostSeen, before: Sequence[HostSeen]) -> HostSeen:
    """Leave out a second address of a machine that is in: with another work_dir there, two gates would share it."""
    for other in before:
        if {host.state, other.state} != {HostState.ADMITTED}:
            continue
        if host.facts.get(MACHINE) and host.facts.get(MACHINE) == other.facts.get(MACHINE):
            return _left_out(
                host, f"it is the same machine as {other.name}", "name each machine of the pool once"
            )
        if host.facts.get(BOOT) and host.facts.get(BOOT) == other.facts.get(BOOT):
            words = (
                f"it shares its kernel with {other.name}: two containers of one machine disturb each other"
            )
            return host.model_copy(update={"notes": (*host.notes, words)})
    return host


def _probed(rig: Rig, host: PoolHost, root: Path, reports: Path) -> HostSeen:
    began = time.monotonic()
    seen = HostSeen(name=host.name, address=host.address, state=HostState.ADMITTED)
    try:
        found = _looked_at(rig, seen, root, reports)
    except GateError as error:
        found = _left_out(seen, error.found, error.do)
    except Exception as error:  # noqa: BLE001 - one host must not cost the others
        found = _left_out(seen, f"the probe broke off: {error!r}", "report this: it is a fault of tokgate")
    return found.model_copy(update={"seconds": round(time.monotonic() - began, 3)})


def _looked_at(rig: Rig, seen: HostSeen, root: Path, reports: Path) -> HostSeen:
    host = connect(rig.host, redactor=redactor_of(rig))
    holder = holder_of(host)  # first: a host that cannot be reached says so here
    checks = [c for c in CHECKS if c.name in _ASKED and not (holder and c.name in _OF_A_HOLDER)]
    results = examine(rig, root=root, reports=reports, quick=True, checks=checks).results
    against = [one for one in results if _stands_against(one)]
    if against:
        first, *others = against
        more = f"; and {len(others)} more: {', '.join(o.check for o in others)}" if others else ""
        return _left_out(seen, f"{first.check}: {first.found}{more}", first.do)
    print_ = fingerprint(host, rig)
    keys = (*_SHARED, *_TOLD, BOOT, *(k for k in print_.facts if k.startswith("draft.")))
    notes = [f"{one.check}: {one.found}" for one in results if one.state is State.WARN]
    return seen.model_copy(
        update={
            "facts": {
                **{key: print_.facts.get(key) for key in keys},
                MACHINE: machine_of(host),
            },
            "notes": (*notes, *([_held(holder)] if holder else [])),
        }
    )


def _stands_against(one: Examined) -> bool:
    return one.state is State.FAIL or (one.state is State.UNKNOWN and one.check in _MUST_BE_SEEN)


def _left_out(seen: HostSeen, why: str, do: str | None) -> HostSeen:
    return seen.model_copy(
        update={
            "state": HostState.LEFT_OUT,
            "why": why[:_WORDS],
            "do": do or "look at it by hand: tokgate doctor --rig-set host.testinfra=" + seen.address,
        }
    )


def _held(holder: LeaseHolder) -> str:
    stopped = ", which is stopped" if holder.stopped else ""
    return f"held since {holder.since} by {holder.owner}, pid {holder.pid} of {holder.where}{stopped}"
