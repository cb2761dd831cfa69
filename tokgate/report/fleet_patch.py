"""A change to SGLang that several hosts measured: both answers over all of them, and what it does arm by arm and host by host."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from pydantic import Field

from tokgate.records import Outcome, Record, Verdict, worst
from tokgate.records.fleet import Fleet
from tokgate.rig.models import Rig
from tokgate.verdicts.questions import SPEED

from .leading import PATCH
from .patch_answers import KEPT, all_elsewhere, anchor_answer, patch_answer, together
from .patch_report import PatchReport, SideTold

_TWO = 2


class ChangeThere(Record):
    """What a change does to the speed of one arm and workload on one host."""

    outcome: Outcome
    change: float | None = Field(
        None, description="relative, head against base; null: it could not be judged there"
    )
    interval: tuple[float, float] | None = None
    base: float | None = None
    head: float | None = None


class ChangeRow(Record):
    """Whether one arm and workload is slower than its base: judged within each host that measured both sides of it."""

    arm: str
    workload: str
    metric: str | None = Field(description="null: it could be judged on no host")
    outcome: Outcome = Field(description="the worst of the hosts'")
    hosts: dict[str, ChangeThere]
    apart: float | None = Field(
        None,
        description="largest change less smallest, of two hosts or more: 0.01 is one point of a per cent",
    )
    disagree: bool = Field(
        False,
        description="the intervals of two hosts have nothing in common: the change is not the same on all",
    )


def merged_patch(
    rig: Rig, fleet: Fleet, found: Sequence[PatchReport], verdicts: Sequence[Verdict], *, selection: str
) -> PatchReport | None:
    """Return what the hosts' own reports say of the change together; None where none was measured.

    `verdicts`: of all hosts, arms named after them; `found`: the hosts' own reports, so named as well.
    """
    if rig.sides is None or not found:
        return None
    first = found[0]
    patch, anchor = patch_answer(verdicts, first.subject, selection), anchor_answer(verdicts, selection)
    elsewhere = patch.outcome in KEPT and all_elsewhere(rig, verdicts)
    return PatchReport(
        question=first.question,
        subject=first.subject,
        patch=patch,
        anchor=anchor,
        together=together(rig, verdicts, patch, anchor, first.subject, elsewhere=elsewhere),
        broken=any(one.broken for one in found),
        elsewhere=elsewhere,
        sides=tuple(_sides(found)),
        units=first.units,
        # Imported on one host is imported: an arm may use what the others do not.
        never_imported=tuple(
            file for file in first.never_imported if all(file in one.never_imported for one in found)
        ),
        splits=tuple(split for one in found for split in one.splits),
        gpu_seconds=_sum([one.gpu_seconds for one in found]),
        base_gpu_seconds=_sum([one.base_gpu_seconds for one in found]),
        notes=tuple(dict.fromkeys((*_same(fleet), *(note for one in found for note in one.notes)))),
    )


def change_rows(verdicts: Sequence[Verdict]) -> Iterator[ChangeRow]:
    """Yield a row for each arm and workload of which a change of speed was asked, over the hosts that measured it."""
    by_arm: dict[tuple[str, str], dict[str, Verdict]] = {}
    for verdict in verdicts:
        if verdict.check != PATCH or verdict.host is None or verdict.metric not in {*SPEED, None}:
            continue
        arm = (verdict.arm or "").removesuffix(f"@{verdict.host}")
        by_arm.setdefault((arm, verdict.workload or ""), {})[verdict.host] = verdict
    for (arm, workload), hosts in sorted(by_arm.items()):
        there = {host: _there(verdict) for host, verdict in sorted(hosts.items())}
        yield ChangeRow(
            arm=arm,
            workload=workload,
            metric=next((v.metric for v in hosts.values() if v.metric is not None), None),
            outcome=worst(one.outcome for one in there.values()),
            hosts=there,
            apart=_apart([one.change for one in there.values() if one.change is not None]),
            disagree=_disagree([one.interval for one in there.values() if one.interval is not None]),
        )


def _there(verdict: Verdict) -> ChangeThere:
    return ChangeThere(
        outcome=verdict.outcome,
        change=verdict.change,
        interval=verdict.interval if verdict.change is not None else None,
        base=verdict.reference.value if verdict.reference is not None else None,
        head=verdict.value,
    )


def _apart(changes: Sequence[float]) -> float | None:
    return max(changes) - min(changes) if len(changes) >= _TWO else None


def _disagree(intervals: Sequence[tuple[float, float]]) -> bool:
    return len(intervals) >= _TWO and max(low for low, _ in intervals) > min(high for _, high in intervals)


def _sides(found: Sequence[PatchReport]) -> Iterator[SideTold]:
    """Yield each side once: hosts with other trees measured nothing, so only a folder that was edited has two of a name."""
    told: set[tuple[str, str]] = set()
    for side in (side for one in found for side in one.sides):
        if (side.name, side.tree) not in told:
            told.add((side.name, side.tree))
            yield side


def _same(fleet: Fleet) -> Iterator[str]:
    shifts = [shift for shift in fleet.measured() if shift.trees]
    hosts = dict.fromkeys(shift.host for shift in shifts)
    same = all(
        [tree.tree for tree in shift.trees] == [tree.tree for tree in shifts[0].trees] for shift in shifts
    )
    if hosts and same:
        yield f"every host made its own trees, and they are the same by the hash over all that Python imports: {', '.join(hosts)}"


def _sum(seconds: Sequence[float | None]) -> float | None:
    known = [one for one in seconds if one is not None]
    return math.fsum(known) if known and len(known) == len(seconds) else None
