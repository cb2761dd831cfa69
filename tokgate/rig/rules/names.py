"""Every name is unique, and whatever a rig refers to by name is there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.records.metric_names import METRIC_NAMES, SPECULATION_METRIC_NAMES
from tokgate.rig.instruments import PROBE_OFF, PROBE_ON
from tokgate.rig.models import Rig
from tokgate.rig.nearest import known_names
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import KeyPath, spell

_RESERVED = {
    "lossless": "[lossless] runs under this one",
    PROBE_OFF: "starts without the probe run under this one",
    PROBE_ON: "starts that are compared with those without the probe run under this one",
}


def broken_names(rig: Rig) -> Iterator[Problem]:
    arms = [a.name for a in rig.arms]
    workloads = [w.name for w in rig.workloads]
    yield from _repeated("arms", arms)
    yield from _repeated("workloads", workloads)
    for i, workload in enumerate(rig.workloads):
        if (taken := _RESERVED.get(workload.name)) is not None:
            yield Problem(("workloads", i, "name"), spell(workload.name), f"another name: {taken}")
        yield from _missing(
            ("workloads", i, "prompts"), workload.prompts, "a prompt set", list(rig.prompt_sets)
        )
    if rig.lossless is not None:
        yield from _missing(
            ("lossless", "prompts"), rig.lossless.prompts, "a prompt set", list(rig.prompt_sets)
        )

    kinds = {a.name: a.kind for a in rig.arms}
    for i, budget in enumerate(rig.budgets):
        here: KeyPath = ("budgets", i)
        yield from _missing((*here, "metric"), budget.metric, "a metric", METRIC_NAMES)
        yield from _missing((*here, "arm"), budget.arm, "an arm or *", ["*", *arms])
        yield from _missing((*here, "workload"), budget.workload, "a workload or *", ["*", *workloads])
        if budget.metric in SPECULATION_METRIC_NAMES and kinds.get(budget.arm) == "baseline":
            yield Problem(
                (*here, "arm"),
                f"{spell(budget.arm)} for {budget.metric}",
                "an eagle3 arm or *: without a draft model there is no such number",
            )
        if budget.at_least is not None and budget.at_most is not None and budget.at_least > budget.at_most:
            yield Problem(
                (*here, "at_least"), spell(budget.at_least), f"at most at_most = {spell(budget.at_most)}"
            )
    for i, twin in enumerate(rig.twins):
        here = ("twins", i)
        yield from _missing((*here, "arm"), twin.arm, "an arm or *", ["*", *arms])
        yield from _missing((*here, "workload"), twin.workload, "a workload or *", ["*", *workloads])
        if kinds.get(twin.arm) == "baseline":
            yield Problem(
                (*here, "arm"),
                spell(twin.arm),
                "an eagle3 arm or *: the baseline arm is the one compared with",
            )
    for metric in rig.floors:
        yield from _missing(("floors", metric), metric, "a metric", METRIC_NAMES)


def _repeated(table: str, names: Sequence[str]) -> Iterator[Problem]:
    for i, name in enumerate(names):
        if name in names[:i]:
            yield Problem(
                (table, i, "name"),
                spell(name),
                f"a name of its own: {table}[{names.index(name)}] has this one",
            )


def _missing(path: KeyPath, name: str, what: str, known: Sequence[str]) -> Iterator[Problem]:
    if name not in known:
        yield Problem(path, spell(name), f"{what} of this rig, {known_names(name, known)}")
