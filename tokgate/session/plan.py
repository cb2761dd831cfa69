"""Which server runs a session makes, and what it takes on each: a pure function of the rig."""

from __future__ import annotations

from dataclasses import dataclass

from tokgate.records import Launch
from tokgate.records.side import BASE, HEAD
from tokgate.rig.instruments import cost_pairs, instrumented
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.sweep import swept
from tokgate.rig.workload import WorkloadSpec

from .restarts import as_restarted

LOSSLESS = "lossless"  # name of the untimed workload whose outputs are compared between arms


def plan_launches(rig: Rig) -> tuple[Launch, ...]:
    """Control, each EAGLE-3 arm, control again: the second control brackets drift.

    Every arm is launched once, so this is as few launches as a bracket allows. Where a change is measured they are its
    head's, and their numbers leave room for the base's (`side_launches`).
    """
    return tuple(launch for launch in timed_launches(rig) if launch.role != "side")


def side_launches(rig: Rig) -> tuple[Launch, ...]:
    """Return the launches of the base of a change, one an arm, each right behind the head's; () where none is measured."""
    return tuple(launch for launch in timed_launches(rig) if launch.role == "side")


def timed_launches(rig: Rig) -> tuple[Launch, ...]:
    """Return all of them, in the order in which they are made."""
    arms = [a for a in rig.arms if a.kind == "eagle3"]
    names: list[tuple[str, str, str]] = [(rig.control.name, rig.control.name, "control")]
    names += [(a.name, a.name, "arm") for a in arms]
    if rig.sides is not None:
        # Head and base of an arm are neighbours: what the machine does meanwhile meets both.
        names = [
            one
            for label, arm, role in names
            for one in ((label, arm, role), (f"{label}-{BASE}", arm, "side"))
        ]
    if arms:
        names.append((f"{rig.control.name}-again", rig.control.name, "control-again"))
    return tuple(
        Launch.model_validate(
            {"id": f"{number:02d}-{label}", "arm": arm, "role": role, "side": side_for(rig, role)}
        )
        for number, (label, arm, role) in enumerate(names, start=1)
    )


def side_for(rig: Rig, role: str) -> str | None:
    """Return the side that launches of this role start from: the head but for the base's own; None without a change."""
    if rig.sides is None:
        return None
    return BASE if role == "side" else HEAD


def has_nccl(rig: Rig) -> bool:
    """Say whether NCCL can matter at all: a block to prove, and more than one GPU to prove it on."""
    return bool(rig.server.nccl) and rig.gpus.count > 1


def proof_launch(rig: Rig) -> Launch | None:
    """Return the start that shows what NCCL made of its variables; None where there is nothing to show.

    Its number is 0: it comes first, and the timed launches keep the numbers they have without it.
    """
    if not has_nccl(rig) or rig.nccl_proof.skip is not None:
        return None
    side = side_for(rig, "nccl-proof")
    return Launch(id="00-nccl-proof", arm=rig.control.name, role="nccl-proof", side=side)


def off_launch(rig: Rig) -> Launch | None:
    """Return the control arm without the NCCL block, measured last; None where there is no block."""
    if not has_nccl(rig):
        return None
    number, side = len(timed_launches(rig)) + 1, side_for(rig, "nccl-off")
    return Launch(id=f"{number:02d}-nccl-off", arm=rig.control.name, role="nccl-off", side=side)


def instrumented_launches(rig: Rig) -> tuple[Launch, ...]:
    """Return one launch an EAGLE-3 arm that carries the instruments of its phases; none where the rig skips them.

    They come after everything that is timed, and none of their numbers is one of the arm's own. The control arm's,
    where the rig wants one, is the last: the others keep the numbers they have without it.
    """
    if rig.instruments.skip is not None:
        return ()
    first, side = len(timed_launches(rig)) + has_nccl(rig) + 1, side_for(rig, "instrumented")
    arms = [a for a in rig.arms if a.kind == "eagle3"]
    arms += [rig.control] if arms and rig.instruments.control else []
    return tuple(
        Launch(id=f"{number:02d}-{arm.name}-phases", arm=arm.name, role="instrumented", side=side)
        for number, arm in enumerate(arms, start=first)
    )


def rig_for(rig: Rig, launch: Launch) -> Rig:
    """Return the rig as this launch has it.

    Without its NCCL block for the launch that shows what it buys; with fewer repeats where instruments are carried;
    with its workloads and setting where it is one of a sweep; with the workloads in question where it is a restart.
    """
    if launch.round:
        return as_restarted(instrumented(rig) if launch.carries else rig, launch)
    if launch.carries:
        return instrumented(rig)
    if launch.role in ("sweep", "sweep-control"):
        return swept(rig, launch.id)
    if launch.role != "nccl-off":
        return as_asked(rig, launch)
    return rig.model_copy(update={"server": rig.server.model_copy(update={"nccl": {}})})


def as_asked(rig: Rig, launch: Launch) -> Rig:
    """Return the rig with the workloads that a planned launch names; with all where it names none."""
    if not launch.workloads:
        return rig
    taken = tuple(w for w in rig.workloads if w.name in launch.workloads)
    lossless = rig.lossless if LOSSLESS in launch.workloads else None
    return rig.model_copy(update={"workloads": taken, "lossless": lossless})


@dataclass(frozen=True)
class Batch:
    """One barrier start: `indexes` are the prompts it sends at once."""

    workload: str
    number: int  # warm-ups count from 0 as well: they come first
    warmup: bool
    indexes: tuple[int, ...]
    switch: bool | None = None  # the probe is switched on or off for it; None: left as it is


def lossless_workload(rig: Rig) -> WorkloadSpec | None:
    """Speculation's outputs are compared on generations of their own, outside every timed window."""
    if rig.lossless is None:
        return None
    return WorkloadSpec(
        name=LOSSLESS,
        prompts=rig.lossless.prompts,
        concurrency=1,
        output_tokens=rig.lossless.output_tokens,
        repeats=rig.lossless.count,
        warmup=0,
        timeout_s=max(w.timeout_s for w in rig.workloads),
    )


def is_pinned(arm: ArmSpec) -> bool:
    return arm.acceptance != "natural"


def workloads_of(rig: Rig, launch: Launch) -> tuple[WorkloadSpec, ...]:
    """Return the timed workloads, then the lossless one where its answer means something.

    Pinned acceptance overwrites output tokens, and the second control has nothing new to say. A proof start
    takes none: NCCL's debug lines cost time.
    """
    if launch.role == "nccl-proof":
        return ()
    lossless = lossless_workload(rig)
    if lossless is None or is_pinned(rig.arm(launch.arm)) or launch.role not in ("control", "arm"):
        return rig.workloads
    return (*rig.workloads, lossless)


def batches_of(workload: WorkloadSpec) -> tuple[Batch, ...]:
    """Prompts are numbered through: the same index is the same prompt in every launch."""
    total = workload.warmup + workload.repeats
    size = workload.concurrency
    return tuple(
        Batch(
            workload=workload.name,
            number=number,
            warmup=number < workload.warmup,
            indexes=tuple(range(number * size, (number + 1) * size)),
        )
        for number in range(total)
    )


def describe_phases(rig: Rig) -> str:
    """Say what each launch with instruments takes, or why there is none."""
    if rig.instruments.skip is not None:
        return f"no launch with instruments, since {rig.instruments.skip}: nothing is promised on phases"
    names, pairs = ", ".join(w.name for w in instrumented(rig).workloads), cost_pairs(rig)
    paired = f"{pairs} pairs of starts with the probe on and off" if pairs else "no pair without the probe"
    return f"phases: {names}; {paired}{'; a trace of a few steps' if rig.instruments.trace else ''}"
