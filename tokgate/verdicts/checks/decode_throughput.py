"""Promise: an arm decodes as fast as its budget says."""

from __future__ import annotations

from tokgate.records import Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.arm_runs import History, Launches, all_of
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.validity import establish_arm

CHECK = "decode_throughput"


def decode_throughput(
    rig: Rig,
    launches: Launches,
    workload: str,
    *,
    history: History | None = None,
) -> tuple[Verdict, ...]:
    """Judge the decode rate of a stream, and above concurrency 1 the sum of all streams too.

    `launches`: all server runs of the arm, in order of time. `history`: stored runs of the same configuration, which
    tell how much runs differ and what of it prompts do.
    """
    runs = establish_arm(rig, all_of(launches), workload, check=CHECK)
    if isinstance(runs, Verdict):
        return (runs,)
    concurrency = rig.workload(workload).concurrency
    metrics = ("decode_tok_s",) if concurrency == 1 else ("decode_tok_s", "total_tok_s")
    return tuple(v for m in metrics for v in judge_metric(rig, runs, m, check=CHECK, history=history))
