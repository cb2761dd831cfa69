"""Promise: the first token arrives as soon as the budget says."""

from __future__ import annotations

from tokgate.records import LaunchEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.establish import establish_workload

CHECK = "time_to_first_token"


def time_to_first_token(rig: Rig, launch: LaunchEvidence, workload: str) -> tuple[Verdict, ...]:
    """Judge the time from the sent request to the first chunk that carried a token."""
    established = establish_workload(rig, launch, workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    return judge_metric(rig, established, "ttft_ms", check=CHECK)
