"""What a session says before it begins: the servers that this selection runs, and what it takes on them."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tokgate.records import Launch
from tokgate.rig.advice import derived_limits
from tokgate.rig.instruments import cost_pairs
from tokgate.rig.models import Rig
from tokgate.rig.workload import WorkloadSpec

from .cost_plan import paired_batches
from .instrument_files import TIMER
from .plan import (
    Batch,
    batches_of,
    describe_phases,
    instrumented_launches,
    off_launch,
    plan_launches,
    proof_launch,
    rig_for,
    workloads_of,
)
from .restarts import describe_restarts
from .sweep_plan import describe_sweep, sweep_launches


def possible_launches(rig: Rig) -> tuple[Launch, ...]:
    """Return every launch that a selection on this rig can ask for, in the order in which they are made."""
    proof, off = proof_launch(rig), off_launch(rig)
    return (
        *((proof,) if proof else ()),
        *plan_launches(rig),
        *((off,) if off else ()),
        *instrumented_launches(rig),
        *sweep_launches(rig),
    )


def describe(rig: Rig, planned: Collection[str], *, samples: bool = False) -> Iterator[str]:
    """Yield what a session that runs these launches will do, before it does it; nothing of any other.

    The few steps that a profiler watches are in no count. `samples`: it may restart arms beyond that.
    """
    launches = [launch for launch in possible_launches(rig) if launch.id in planned]
    if not launches:
        yield f"rig {rig.name}: no server launch"
        return
    plural = "" if len(launches) == 1 else "es"
    swept = [launch.id for launch in launches if launch.role.startswith("sweep")]
    named = [launch.id for launch in launches if launch.id not in swept]
    if swept:
        named.append(f"{swept[0]} to {swept[-1]}")
    yield f"rig {rig.name}: {len(launches)} server launch{plural}: {', '.join(named)}"
    taken = [(w.name, w.output_tokens, b) for launch in launches for w, b in _taken(rig, launch)]
    generations = sum(len(b.indexes) for _, _, b in taken)
    tokens = sum(len(b.indexes) * each for _, each, b in taken)
    if taken:
        yield f"{generations} generations, {tokens} tokens; {', '.join(dict.fromkeys(name for name, _, _ in taken))}"
    if any(launch.role == "instrumented" for launch in launches):
        yield describe_phases(rig)
    if samples:
        yield describe_restarts(rig)
    if swept:
        yield from describe_sweep(rig)


def describe_instruments(rig: Rig) -> Iterator[str]:
    """Yield the launches that tell of phases, and the limits that nobody wrote down."""
    launches = instrumented_launches(rig)
    if launches:
        plural = "" if len(launches) == 1 else "es"
        names = ", ".join(launch.id for launch in launches)
        yield f"{len(launches)} launch{plural} with instruments, where -m verify or -m eagle3 asks: {names}"
    if launches or rig.instruments.skip is not None:
        yield describe_phases(rig)
    for words in derived_limits(rig):
        yield f"derived limit, from the control arm of the same session: {words}"


def describe_line_with_instruments(rig: Rig, arm: str) -> Iterator[str]:
    """Yield how the launch of an arm that carries instruments differs from its timed one."""
    timer = f" and {TIMER}=1" if rig.gpus.count > 0 else ""
    for launch in (e for e in instrumented_launches(rig) if e.arm == arm):
        yield (
            f"{launch.id} has this line with the probe in PYTHONPATH, TOKGATE_PROBE_OUT, TOKGATE_PROBE_SWITCH"
            f"{timer}: it tells of phases, and is never timed."
        )


def _taken(rig: Rig, launch: Launch) -> Iterator[tuple[WorkloadSpec, Batch]]:
    own = rig_for(rig, launch)
    pairs = cost_pairs(own) if launch.role == "instrumented" else 0
    for number, workload in enumerate(workloads_of(own, launch)):
        batches = paired_batches(workload, pairs) if number == 0 and pairs else batches_of(workload)
        yield from ((workload, batch) for batch in batches)
