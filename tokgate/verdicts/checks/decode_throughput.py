"""Promise: an arm decodes as fast as its budget says."""

from __future__ import annotations

from tokgate.records import LaunchEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.establish import establish_workload

CHECK = "decode_throughput"


def decode_throughput(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Judge the decode rate of a stream, and above concurrency 1 the sum of all streams too."""
    established = establish_workload(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    concurrency = rig.workload(workload).concurrency
    metrics = ("decode_tok_s",) if concurrency == 1 else ("decode_tok_s", "total_tok_s")
    return tuple(v for m in metrics for v in judge_metric(rig, established, m, check=CHECK))
