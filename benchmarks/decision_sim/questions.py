"""What one session asks: two arms, two workloads, a few metrics each; as in rigs/sim-8gpu.toml."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tokgate.verdicts.metrics import METRICS

ARMS = 2  # 0: without speculation, 1: with
WORKLOADS = 2  # 0: one stream, 1: several
FALSE_ALARM = 0.01  # of a session, over all its comparisons: [sampling] false_alarm
PRIMARY_SHARE = 0.8


class Question(NamedTuple):
    arm: int
    workload: int
    metric: str
    primary: bool
    noise: float  # times what throughput varies by


# First-token times carry the scheduler's poll and spread wider; their floor is five times as wide, too.
QUESTIONS = (
    Question(0, 0, "decode_tok_s", True, 1.0),
    Question(0, 0, "tpot_ms", False, 1.0),
    Question(0, 0, "ttft_ms", False, 3.0),
    Question(0, 1, "total_tok_s", True, 1.0),
    Question(0, 1, "tpot_ms", False, 1.0),
    Question(0, 1, "ttft_ms", False, 3.0),
    Question(1, 0, "decode_tok_s", True, 1.0),
    Question(1, 0, "cycle_ms", False, 1.0),
    Question(1, 0, "ttft_ms", False, 3.0),
    Question(1, 0, "verify_ms", True, 1.0),
    Question(1, 1, "total_tok_s", True, 1.0),
    Question(1, 1, "cycle_ms", False, 1.0),
    Question(1, 1, "ttft_ms", False, 3.0),
)

ARM = np.array([q.arm for q in QUESTIONS])
WORKLOAD = np.array([q.workload for q in QUESTIONS])
NOISE = np.array([q.noise for q in QUESTIONS])
PRIMARY = np.array([q.primary for q in QUESTIONS])
HIGHER = np.array([METRICS[q.metric].better == "higher" for q in QUESTIONS])
FLOOR = np.array([METRICS[q.metric].relative_floor for q in QUESTIONS])
THROUGHPUT = np.array([q.metric in ("decode_tok_s", "total_tok_s") for q in QUESTIONS])
# A chance of a false alarm, one-sided: the primary numbers share 80 % of the session's.
LEVEL = FALSE_ALARM * np.where(PRIMARY, PRIMARY_SHARE / PRIMARY.sum(), (1 - PRIMARY_SHARE) / (~PRIMARY).sum())
# The hardest loss: one arm with one stream. Its throughput, its cycle and its verify have lost.
LOSES = (ARM == 1) & (WORKLOAD == 0) & np.array([q.metric != "ttft_ms" for q in QUESTIONS])
