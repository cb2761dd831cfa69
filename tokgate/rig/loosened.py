"""Which limits of a rig are looser than they were: what a change of baselines must not bring along unseen."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from pydantic import BaseModel

from tokgate.records.record import Record

from .limits import Budget, Floor, Twin
from .models import Rig
from .workload import WorkloadSpec

Looser = Literal["more", "less"]
_Place = tuple[str, str]  # arm and workload
_Limit = tuple[float, Budget | Twin] | tuple[None, None]  # and the entry that sets it
_BUDGETS: Mapping[str, Looser] = {"at_least": "less", "at_most": "more", "break_even_margin": "less"}

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
        if then.stored is not None or today.stored is not None:
            yield from _number(f"floors.{metric}.stored", _stored(then), _stored(today), "more")
        yield from _number(f"floors.{metric}.absolute", then.absolute, today.absolute, "more")


def _stored(floor: Floor) -> float:
    return floor.relative if floor.stored is None else floor.stored


def _budgets(before: Rig, now: Rig) -> Iterator[Loosened]:
    """Every budget that fits holds: what counts is the tightest."""
    for metric in dict.fromkeys(b.metric for b in before.budgets):
        for key, looser in _BUDGETS.items():

            def tightest(
                rig: Rig, place: _Place, metric: str = metric, key: str = key, looser: Looser = looser
            ) -> _Limit:
                mine = [b for b in rig.budgets if b.metric == metric and _fits(b, place)]
                set_ = [(limit, b) for b in mine if (limit := getattr(b, key)) is not None]
                pick = max if looser == "less" else min
                return pick(set_, key=lambda one: one[0]) if set_ else (None, None)

            yield from _effective(before, now, tightest, f"budgets ({metric}, {{scope}}).{key}", looser)


def _twins(before: Rig, now: Rig) -> Iterator[Loosened]:
    """Of twins the most particular holds, whatever stands beside it."""

    def particular(rig: Rig, place: _Place) -> _Limit:
        found = rig.twin(*place)
        return (found.at_least, found) if found is not None else (None, None)

    yield from _effective(before, now, particular, "twins ({scope}).at_least", "less")


def _effective(
    before: Rig, now: Rig, limit: Callable[[Rig, _Place], _Limit], name: str, looser: Looser
) -> Iterator[Loosened]:
    """Compare what holds for each arm and workload, not lines: told once an entry that sets it, by the scope of that."""
    arms = dict.fromkeys(arm.name for rig in (before, now) for arm in rig.arms)
    workloads = dict.fromkeys(w.name for rig in (before, now) for w in rig.workloads)
    told: dict[str, Loosened] = {}
    for place in itertools.product(arms, workloads):
        (then, old), (today, new) = limit(before, place), limit(now, place)
        scope = new or old
        if scope is not None:
            key = name.format(scope=f"arm {scope.arm}, workload {scope.workload}")
            told |= {one.words: one for one in _number(key, then, today, looser)}
    yield from told.values()


def _fits(budget: Budget, place: _Place) -> bool:
    return budget.arm in ("*", place[0]) and budget.workload in ("*", place[1])


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
