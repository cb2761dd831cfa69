"""Promise: the first token arrives as soon as the budget says."""

from __future__ import annotations

from tokgate.records import Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.arm_runs import History, Launches, all_of
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.validity import establish_arm

CHECK = "time_to_first_token"


def time_to_first_token(
    rig: Rig,
    launches: Launches,
    workload: str,
    *,
    history: History | None = None,
) -> tuple[Verdict, ...]:
    """Judge the time from the sent request to the first chunk that carried a token, over all server runs of the arm.

    `launches`, `history`: as of `decode_throughput`.
    """
    runs = establish_arm(rig, all_of(launches), workload, check=CHECK)
    if isinstance(runs, Verdict):
        return (runs,)
    return judge_metric(rig, runs, "ttft_ms", check=CHECK, history=history)
