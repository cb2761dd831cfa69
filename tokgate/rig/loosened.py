"""Which limits of a rig are looser than they were: what a change of baselines must not bring along unseen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from pydantic import BaseModel

from tokgate.records.record import Record

from .limits import Budget, Floor, Twin
from .models import Rig
from .workload import WorkloadSpec

Looser = Literal["more", "less"]

# Section -> key -> which way it is looser. What a section of one of these names has beside is no limit.
_SECTIONS: Mapping[str, Mapping[str, Looser]] = {
    "gpus": {"tolerance_mib": "more"},
    "sampling": {"false_alarm": "less", "power": "less", "gpu_time_s": "less", "most_restarts": "less", "most_starts": "less"},
    "baselines": {
        "expire_days": "more",
        "creep": "more",
        "raise_sessions": "less",
        "raise_runs": "less",
        "raise_level": "more",
    },
    "instruments": {"repeats": "less", "cost_pairs": "less"},
    "lossless": {"count": "less", "output_tokens": "less", "max_gap": "more"},
}  # fmt: skip


class Loosened(Record):
    """One limit; None: it was not there, or is not there any more."""

    key: str  # as in the rig file: "floors.decode_tok_s.relative"
    before: str | None
    now: str | None

    @property
    def words(self) -> str:
        return f"{self.key}: {self.before or 'not set'} -> {self.now or 'not set'}"


def loosened(before: Rig, now: Rig, floors: Mapping[str, Floor]) -> tuple[Loosened, ...]:
    """Return every limit that asks less than before. `floors`: what counts for a metric without one of its own.

    A false alarm made rarer asks less too: it takes a larger loss to be called.
    """
    return (
        *_sections(before, now),
        *_floors(before, now, floors),
        *_budgets(before, now),
        *_twins(before, now),
        *_workloads(before, now),
        *_left_out(before, now),
    )


def _sections(before: Rig, now: Rig) -> Iterator[Loosened]:
    for section, keys in _SECTIONS.items():
        then, today = getattr(before, section, None), getattr(now, section, None)
        if isinstance(then, BaseModel) and isinstance(today, BaseModel):
            for key, looser in keys.items():
                yield from _number(
                    f"{section}.{key}", getattr(then, key, None), getattr(today, key, None), looser
                )
    if before.lossless is not None and now.lossless is not None:
        if (before.lossless.mode, now.lossless.mode) == ("exact", "near-tie"):
            yield Loosened(key="lossless.mode", before="exact", now="near-tie")
    elif before.lossless is not None:
        yield Loosened(key="lossless", before=before.lossless.mode, now=None)
    if (before.baselines.expired, now.baselines.expired) == ("inconclusive", "warn"):
        yield Loosened(key="baselines.expired", before="inconclusive", now="warn")
    for name, then_why, why in (
        ("nccl_proof.skip", before.nccl_proof.skip, now.nccl_proof.skip),
        ("instruments.skip", before.instruments.skip, now.instruments.skip),
    ):
        if then_why is None and why is not None:
            yield Loosened(key=name, before=None, now=why)


def _floors(before: Rig, now: Rig, floors: Mapping[str, Floor]) -> Iterator[Loosened]:
    for metric in sorted({*before.floors, *now.floors}):
        default = floors.get(metric, Floor())
        then, today = before.floors.get(metric, default), now.floors.get(metric, default)
        yield from _number(f"floors.{metric}.relative", then.relative, today.relative, "more")
        yield from _number(f"floors.{metric}.absolute", then.absolute, today.absolute, "more")


def _budgets(before: Rig, now: Rig) -> Iterator[Loosened]:
    kept = list(now.budgets)
    for then in before.budgets:
        name = f"budgets ({then.metric}, arm {then.arm}, workload {then.workload})"
        today = next((b for b in kept if _scope(b) == _scope(then)), None)
        if today is None:
            yield Loosened(key=name, before=then.words, now=None)
            continue
        kept.remove(today)
        yield from _number(f"{name}.at_least", then.at_least, today.at_least, "less")
        yield from _number(f"{name}.at_most", then.at_most, today.at_most, "more")
        yield from _number(
            f"{name}.break_even_margin", then.break_even_margin, today.break_even_margin, "less"
        )


def _scope(budget: Budget) -> tuple[object, ...]:
    """Tell budgets apart: one metric may have a fixed limit and a derived one, of the same arm and workload."""
    return budget.metric, budget.arm, budget.workload, budget.break_even_margin is None


def _twins(before: Rig, now: Rig) -> Iterator[Loosened]:
    today: dict[tuple[str, str], Twin] = {(t.arm, t.workload): t for t in now.twins}
    for then in before.twins:
        name = f"twins (arm {then.arm}, workload {then.workload}).at_least"
        other = today.get((then.arm, then.workload))
        yield from _number(name, then.at_least, other.at_least if other is not None else None, "less")


def _workloads(before: Rig, now: Rig) -> Iterator[Loosened]:
    today: dict[str, WorkloadSpec] = {w.name: w for w in now.workloads}
    for then in before.workloads:
        other = today.get(then.name)
        if other is None:
            yield Loosened(key=f"workloads {then.name}", before=f"{then.repeats} repeats", now=None)
            continue
        yield from _number(f"workloads {then.name}.repeats", then.repeats, other.repeats, "less")
        yield from _number(f"workloads {then.name}.warmup", then.warmup, other.warmup, "less")


def _left_out(before: Rig, now: Rig) -> Iterator[Loosened]:
    names = {arm.name for arm in now.arms}
    for arm in before.arms:
        if arm.name not in names:
            yield Loosened(key=f"arms {arm.name}", before=arm.kind, now=None)
    if before.sweep is not None and now.sweep is None:
        yield Loosened(key="sweep", before=f"of {before.sweep.arm}", now=None)


def _number(key: str, then: object, today: object, looser: Looser) -> Iterator[Loosened]:
    """A limit that is gone is looser; one that is new is not."""
    if not isinstance(then, int | float) or then == today:
        return
    if not isinstance(today, int | float):
        yield Loosened(key=key, before=f"{then:g}", now=None)
    elif (today > then) is (looser == "more"):
        yield Loosened(key=key, before=f"{then:g}", now=f"{today:g}")
