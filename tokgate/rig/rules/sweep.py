"""A sweep compares settings of one natural arm, and does not grow beyond what was agreed to."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.rig.launches import SweepSpec
from tokgate.rig.models import Rig
from tokgate.rig.nearest import known_names
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import spell
from tokgate.rig.sweep import CONTROLS, settings_of, swept_workloads


def broken_sweep(rig: Rig) -> Iterator[Problem]:
    spec = rig.sweep
    if spec is None:
        return
    arm = next((a for a in rig.arms if a.name == spec.arm), None)
    names = [a.name for a in rig.arms if a.kind == "eagle3"]
    if arm is None or arm.kind != "eagle3":
        yield Problem(
            ("sweep", "arm"), spell(spec.arm), f"an eagle3 arm of this rig, {known_names(spec.arm, names)}"
        )
        return
    if arm.acceptance != "natural":
        yield Problem(
            ("sweep", "arm"),
            f"{spell(spec.arm)} with acceptance = {spell(arm.acceptance)}",
            "an arm with natural acceptance: pinned, every number of steps is accepted alike",
        )
    yield from _lists(rig, spec)
    settings = settings_of(rig)
    if len(settings) < 2:
        yield Problem(
            ("sweep",),
            f"no setting that can be launched besides {settings[0].words}, the arm's own",
            "two or more: a sweep compares",
        )
    launches = len(settings) + len(CONTROLS)
    if launches > spec.most:
        generations = launches * sum((w.warmup + w.repeats) * w.concurrency for w in swept_workloads(rig))
        yield Problem(
            ("sweep", "most"),
            f"{spec.most} with {launches} launches ({len(settings)} settings and {len(CONTROLS)} of the control "
            f"arm, {generations} generations)",
            f"fewer settings, or most = {launches}",
        )


def _lists(rig: Rig, spec: SweepSpec) -> Iterator[Problem]:
    workloads = [w.name for w in rig.workloads]
    for i, name in enumerate(spec.workloads):
        if name not in workloads:
            wanted = f"a workload of this rig, {known_names(name, workloads)}"
            yield Problem(("sweep", "workloads", i), spell(name), wanted)
    lists: dict[str, tuple[object, ...]] = {
        "num_steps": spec.num_steps,
        "topk": spec.topk,
        "num_draft_tokens": spec.num_draft_tokens,
        "workloads": spec.workloads,
    }
    for key, values in lists.items():
        if len(set(values)) < len(values):
            yield Problem(("sweep", key), spell(values), "each of them once")
    trees = any(k > 1 for k in spec.topk)
    if trees and not spec.num_draft_tokens:
        yield Problem(
            ("sweep", "num_draft_tokens"), "nothing", "how many tokens are verified of a tree (topk above 1)"
        )
    if spec.num_draft_tokens and not trees:
        yield Problem(
            ("sweep", "num_draft_tokens"),
            spell(spec.num_draft_tokens),
            "no such key: with topk = 1 a chain has num_steps + 1 tokens",
        )
