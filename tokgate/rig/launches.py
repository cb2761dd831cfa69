"""What a rig has launched beside its arms: the proof of NCCL, instruments, restarts and a sweep."""

from __future__ import annotations

from pydantic import Field, PositiveInt

from tokgate.records.record import Record

from .values import Name


class NcclProofSpec(Record):
    """The start that shows what NCCL made of the NCCL block; it comes first and is never timed."""

    skip: str | None = Field(
        None,
        min_length=1,
        description="why no such start is made: what it would show is then told as not proven, with this reason",
    )


class InstrumentsSpec(Record):
    """The launches, one an eagle3 arm, that carry the probe and the device timer; never counted for throughput."""

    skip: str | None = Field(
        None, min_length=1, description="why there are none: no promise on phases is then made"
    )
    repeats: PositiveInt | None = Field(
        None, description="at most this many repeats of each workload; a launch's number is their median"
    )
    workloads: tuple[Name, ...] | None = Field(
        None, min_length=1, description="the workloads they take; left out: all of them"
    )
    control: bool = Field(
        False, description="also launch the control arm with instruments: the plain decode step's own time"
    )
    cost_pairs: int | None = Field(
        None,
        ge=0,
        description="pairs of starts with the probe on and off, in the first workload; an interval needs 6; "
        "left out: one for each judged start",
    )
    trace: bool = Field(True, description="profile a few steps with torch's profiler, behind all workloads")


class SamplingSpec(Record):
    """How sure a verdict must be, and what may be spent on it beyond the plan."""

    false_alarm: float = Field(
        0.01,
        gt=0,
        lt=0.5,
        description="chance that a session of an unchanged server calls any loss, all its comparisons together",
    )
    power: float = Field(
        0.95,
        gt=0.5,
        lt=1,
        description="chance that a loss of half as much again as a metric's floors is called, where a pass is given",
    )
    gpu_time_s: float = Field(
        600.0,
        ge=0,
        description="seconds of the machine that further restarts of arms may take, beyond the plan, as much again for the base of a "
        "change; 0: none are made, "
        "and losses are called without being confirmed by restarts",
    )
    most_restarts: int = Field(6, ge=0, description="further restarts of one arm, at most")
    least_restarts: int = Field(
        0,
        ge=0,
        description="further restarts of every eagle3 arm, whatever is open, as far as gpu_time_s takes them: of 1 each "
        "session has two server runs of it, as a baseline wants",
    )
    most_starts: float = Field(
        2.0,
        ge=1,
        description="within one launch, starts of a workload are added until its median is known well enough, up to "
        "this many times its repeats; 1: never",
    )


class SweepSpec(Record):
    """Steps x topk x draft tokens of one arm, a launch each; measured only where `-m sweep` asks for it."""

    arm: Name = Field(description="the eagle3 arm whose draft model, arguments and environment are used")
    num_steps: tuple[PositiveInt, ...] = Field(min_length=1, description="the draft steps of one cycle")
    topk: tuple[PositiveInt, ...] = Field((1,), min_length=1, description="the branches of each draft step")
    num_draft_tokens: tuple[PositiveInt, ...] = Field(
        (), description="the tokens that one cycle verifies, of trees only: a chain has num_steps + 1"
    )
    workloads: tuple[Name, ...] = Field((), description="names of workloads; all of them where none is named")
    repeats: PositiveInt | None = Field(
        None, description="barrier starts of each workload and launch, in place of the workload's own"
    )
    most: PositiveInt = Field(
        12, description="more server launches than this are refused, the two of the control arm counted"
    )
