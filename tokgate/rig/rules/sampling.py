"""What may be sampled beyond the plan does not contradict itself."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.rig.models import Rig
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import spell


def broken_sampling(rig: Rig) -> Iterator[Problem]:
    spec = rig.sampling
    if spec.gpu_time_s > 0 and spec.most_restarts == 0:
        yield Problem(
            ("sampling", "most_restarts"),
            f"{spell(spec.most_restarts)} with gpu_time_s = {spell(spec.gpu_time_s)}",
            "at least 1, or gpu_time_s = 0: that alone switches restarts off, and says so with every verdict",
        )
    if spec.least_restarts > (most := spec.most_restarts if spec.gpu_time_s > 0 else 0):
        yield Problem(
            ("sampling", "least_restarts"),
            f"{spell(spec.least_restarts)} with most_restarts = {spell(spec.most_restarts)} and gpu_time_s = {spell(spec.gpu_time_s)}",
            f"at most {most}: no more restarts than that are made of an arm",
        )
