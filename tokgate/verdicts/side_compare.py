"""Head against base of a change, metric by metric: what is asked of each, and what is decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tokgate.records import Outcome
from tokgate.records.record import Record
from tokgate.rig.models import Rig
from tokgate.stats.decide import decide
from tokgate.stats.decision import Decision, Wants
from tokgate.stats.levels import RunValues

from .arm_runs import History
from .establish import Established
from .family import BESIDE_SPEED, BESIDE_SPEED_OF_EAGLE3, handed_on
from .metrics import METRICS, Metric, throughput_metric
from .run_values import Asked, asked_of, values_now

_CYCLE, _DECODE = "cycle_ms", "decode_tok_s"


class ComparedSides(Record):
    """One metric of an arm under one workload."""

    metric: Metric
    asked: Asked
    decision: Decision  # `wants` keep the sides balanced


def metrics_of(rig: Rig, arm: str, workload: str) -> tuple[Metric, ...]:
    """Return what a change is judged by: throughput, what makes it in an EAGLE-3 arm, and the time to the first token."""
    speed = throughput_metric(rig.workload(workload).concurrency)
    eagle3 = BESIDE_SPEED_OF_EAGLE3 if rig.arm(arm).kind == "eagle3" else ()
    return (speed, *(METRICS[name] for name in (*eagle3, *BESIDE_SPEED)))


def compared_sides(
    rig: Rig,
    heads: Sequence[Established],
    bases: Sequence[Established],
    workload: str,
    *,
    history: History,
    beside: Sequence[Sequence[Established]] = (),
) -> Iterator[ComparedSides]:
    """Yield a decision per metric that every run of both sides knows.

    Both sides are one configuration but for the change, so how far their runs differ is theirs together, and stored runs
    of the arm (`history`) tell it as well. `beside`: runs of other arms and sides of this session, one group each, which
    tell whether restarts on this machine fall into two modes. What is called hands its chance of a false alarm on (family.handed_on).
    """
    arm = heads[0].launch.launch.arm
    sides = {}
    for metric in metrics_of(rig, arm, workload):
        now, before = values_now(heads, metric.name), values_now(bases, metric.name)
        if len(now) == len(heads) and len(before) == len(bases):
            sides[metric.name] = (now, before)
    every = (*heads, *bases)
    asked = {name: asked_of(rig, "side", METRICS[name], workload, every) for name in sides}
    yield from decided(sides, asked, history=history, beside={name: _others(beside, name) for name in sides})


def decided(
    sides: Mapping[str, tuple[Sequence[RunValues], Sequence[RunValues]]],
    asked: Mapping[str, Asked],
    *,
    history: History,
    beside: Mapping[str, Sequence[RunValues]],
) -> Iterator[ComparedSides]:
    """Yield a decision per metric. `sides`: the runs of head and base; the rest as of `compared_sides`, by metric."""
    asked = dict(asked)
    own = {name: one.rule.level for name, one in asked.items()}
    found: dict[str, Decision] = {}
    called: list[str] = []
    while True:
        for name, level in handed_on(own, called).items():
            asked[name] = asked[name].at(level)
            found[name] = decide(
                *sides[name],
                asked[name].rule,
                kind="side",
                history=history.get(name, ()),
                beside=beside.get(name, ()),
            )
        more = [n for n in found if n not in called and found[n].outcome is Outcome.REGRESSED]
        if not more:
            break
        called += more
    for name, decision in found.items():
        yield ComparedSides(metric=METRICS[name], asked=asked[name], decision=balanced(decision))


def balanced(decision: Decision) -> Decision:
    """Return a decision that wants as many runs of either side in all: they are started in turns."""
    return decision.model_copy(
        update={"wants": _of_both(decision, decision.wants), "most": _of_both(decision, decision.most)}
    )


def _of_both(decision: Decision, wants: Wants) -> Wants:
    if not (wants.now or wants.before):
        return wants
    whole = max(decision.runs_now + wants.now, decision.runs_before + wants.before)
    return Wants(now=whole - decision.runs_now, before=whole - decision.runs_before)


def _others(beside: Sequence[Sequence[Established]], metric: str) -> tuple[RunValues, ...]:
    """Return the runs of other arms. A cycle, which the control has not, is held against its decode."""
    return tuple(
        run.model_copy(update={"session": f"beside {number}"})
        for number, group in enumerate(beside)
        for run in values_now(group, metric) or (values_now(group, _DECODE) if metric == _CYCLE else ())
    )
