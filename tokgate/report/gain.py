"""Gain by concurrency: each EAGLE-3 arm against its twin at every level that the rig measures.

A series are workloads that differ in nothing but how many streams run at once. Where the rig has no such workloads,
those that differ in the length of an answer as well stand together, and the series says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pydantic import Field

from tokgate.records import LaunchEvidence, Record, RunEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.rig.workload import WorkloadSpec
from tokgate.stats.crossover import Crossover, Level, across
from tokgate.verdicts.bracket import bracketed
from tokgate.verdicts.establish import Established, establish_workload
from tokgate.verdicts.metrics import throughput_metric

from . import figures

CHECK = "gain by concurrency"
COLUMNS = ("arm", "at once", "workload", "speed-up of", "speed-up", "interval", "n", "so it")


class Gain(Record):
    """One arm along one series of workloads."""

    arm: str
    workloads: dict[int, str] = Field(description="concurrency -> workload, in rising order")
    metrics: dict[int, str] = Field(
        description="concurrency -> what is compared: of one stream, or of all together"
    )
    gain: Crossover
    warnings: tuple[str, ...] = ()


def gains(rig: Rig, evidence: RunEvidence) -> tuple[Gain, ...]:
    """Return one record per EAGLE-3 arm that was timed and series of the rig's workloads."""
    controls = [e for e in evidence.launches if e.launch.role in ("control", "control-again")]
    kinds = {a.name: a.kind for a in rig.arms}
    return tuple(
        _gain(rig, launch, controls, workloads)
        for launch in evidence.launches
        if launch.launch.role == "arm" and kinds.get(launch.launch.arm) == "eagle3"
        for workloads in series_of(rig.workloads)
        if any(g.workload == w.name for g in launch.generations for w in workloads)
    )


def series_of(workloads: Sequence[WorkloadSpec]) -> tuple[tuple[WorkloadSpec, ...], ...]:
    """Group workloads by everything that decides what is measured but concurrency, each group by rising level.

    Lengths of answers stay apart where that leaves every level its own series twice over; where one series is all
    there would be per level, they stand together.
    """
    alike: dict[tuple[str, ...], list[WorkloadSpec]] = {}
    for w in workloads:
        alike.setdefault((w.endpoint, w.prompts, w.cache), []).append(w)
    found: list[tuple[WorkloadSpec, ...]] = []
    for group in alike.values():
        if len({w.concurrency for w in group}) == len(group):
            found.append(_rising(group))
            continue
        for length in dict.fromkeys(w.output_tokens for w in group):
            found += _levels([w for w in group if w.output_tokens == length])
    return tuple(found)


def rows(found: Sequence[Gain]) -> Iterator[tuple[str, ...]]:
    """Yield the cells of each level in the order of COLUMNS; nothing is escaped yet."""
    for gain in found:
        for level in gain.gain.levels:
            at = level.concurrency
            yield (
                gain.arm,
                str(at),
                gain.workloads[at],
                "one stream" if gain.metrics[at] == "decode_tok_s" else "all together",
                f"{level.ratio:.3f}",
                figures.NONE
                if level.interval is None
                else f"{level.interval[0]:.3f} … {level.interval[1]:.3f}",
                f"{level.n[0]}+{level.n[1]}",
                word(level),
            )


def tabled(found: Sequence[Gain]) -> tuple[tuple[str, ...], ...]:
    return tuple(rows(found))


def numeric(column: int) -> bool:
    """Say whether a column of COLUMNS holds numbers."""
    return column in (1, 4, 5, 6)


def word(level: Level) -> str:
    return {True: "wins", False: "loses", None: "is not decided"}[level.wins]


def sentences(found: Sequence[Gain]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return, per arm and series, where it stops winning, and what to know about that."""
    return tuple(
        (
            f"{gain.arm}: {gain.gain.words}",
            (*gain.warnings, *(f"{gain.workloads[at]}: {why}" for at, why in gain.gain.unknown.items())),
        )
        for gain in found
    )


def _rising(group: Sequence[WorkloadSpec]) -> tuple[WorkloadSpec, ...]:
    return tuple(sorted(group, key=lambda w: w.concurrency))


def _levels(group: Sequence[WorkloadSpec]) -> list[tuple[WorkloadSpec, ...]]:
    """Workloads that are the same but for their names and repeats: the second of a level begins another series."""
    found: list[list[WorkloadSpec]] = []
    for w in group:
        free = next((s for s in found if all(w.concurrency != other.concurrency for other in s)), None)
        if free is None:
            found.append([w])
        else:
            free.append(w)
    return [_rising(s) for s in found]


def _gain(
    rig: Rig, launch: LaunchEvidence, controls: Sequence[LaunchEvidence], workloads: Sequence[WorkloadSpec]
) -> Gain:
    levels: list[Level] = []
    unknown: dict[int, str] = {}
    for w in workloads:
        level = _level(rig, launch, controls, w)
        if isinstance(level, str):
            unknown[w.concurrency] = level
        else:
            levels.append(level)
    return Gain(
        arm=launch.launch.arm,
        workloads={w.concurrency: w.name for w in workloads},
        metrics={w.concurrency: throughput_metric(w.concurrency).name for w in workloads},
        gain=across(levels, unknown),
        warnings=tuple(_lengths(workloads)),
    )


def _lengths(workloads: Sequence[WorkloadSpec]) -> Iterator[str]:
    lengths = {w.concurrency: w.output_tokens for w in workloads}
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{n} tokens at {at}" for at, n in lengths.items())
        yield (
            f"answers differ in length, too ({told}): each level is true of its own workload, what lies between them "
            "is not the load's doing alone"
        )


def _level(
    rig: Rig, launch: LaunchEvidence, controls: Sequence[LaunchEvidence], workload: WorkloadSpec
) -> Level | str:
    """Compare as the twin check does: with each control on its own, the hull of the intervals."""
    if not controls:
        return "the control arm was not measured in this session"
    metric = throughput_metric(workload.concurrency).name
    sides = [establish_workload(rig, e, workload.name, check=CHECK) for e in (launch, *controls)]
    for side in sides:
        if isinstance(side, Verdict):
            return side.headline
    good = [side for side in sides if isinstance(side, Established)]
    if lacking := next((side for side in good if metric not in side.series), None):
        return f"{metric} of {lacking.launch.launch.id} is unknown: {lacking.why_missing(metric)}"
    now, *before = [side.series[metric].values for side in good]
    found = bracketed(now, before)
    return Level(
        concurrency=workload.concurrency,
        n=(len(now), sum(len(v) for v in before)),
        ratio=found.ratio,
        interval=found.interval,
    )
