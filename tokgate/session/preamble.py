"""What a rig can launch, and what `tokgate rig check` says of its instruments before anything is run."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records import Launch
from tokgate.rig.advice import derived_limits
from tokgate.rig.models import Rig

from .culprit_plan import opening_launches
from .instrument_files import TIMER
from .plan import (
    describe_phases,
    instrumented_launches,
    off_launch,
    proof_launch,
    timed_launches,
)
from .sweep_plan import sweep_launches


def possible_launches(rig: Rig) -> tuple[Launch, ...]:
    """Return every launch that a selection on this rig can ask for, in the order in which they are made."""
    proof, off = proof_launch(rig), off_launch(rig)
    found = (
        *((proof,) if proof else ()),
        *timed_launches(rig),
        *((off,) if off else ()),
        *instrumented_launches(rig),
        *sweep_launches(rig),
    )
    last = max((int(launch.id.partition("-")[0]) for launch in found), default=0)
    return (*found, *opening_launches(rig, behind=last))


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
