"""The rules that the field uses, each as its own source has it, on the same simulated sessions.

What a rule stores costs it nothing; what it measures in the session does. Where a rule says nothing of a metric it is
spared it: all but benchstat judge throughput alone, one number an arm and workload.
"""

from __future__ import annotations

import numpy as np

from .draw import Bools, Floats, Machine, Result
from .questions import ARMS, THROUGHPUT, WORKLOADS
from .worlds import WARMUPS

HISTORY = 5  # sessions that a constant or a stored run is taken from


def fixed_best_of_3(machine: Machine, *, loss: float, limit: float = 0.05) -> Result:
    """SGLang: a constant in the test; up to three attempts on one server, stopping at the first good one, and once more.

    `bs_1_speed_attempts = 3` in python/sglang/test/kits/spec_decoding_kit.py; `SGLANG_TEST_MAX_RETRY`, 1 in CI, in
    CustomTestCase, python/sglang/test/test_utils.py. The constants lie where somebody put them; sglang#24563 has one that
    let 8 % pass. Here `limit` below the mean of five sessions.
    """
    attempts = 6
    known = np.mean([_one_run(machine, 0.0, 3) for _ in range(HISTORY)], axis=0)
    runs = machine.runs(machine.session(), loss=loss, at=0.0)
    tries = machine.starts(runs, attempts)[:, THROUGHPUT, 0]
    good = tries < (known - np.log1p(-limit))[..., None]
    used = np.where(good.any(axis=-1), good.argmax(axis=-1) + 1, attempts)
    return _result(
        (~good.any(axis=-1)).any(axis=1), launches=ARMS, starts=used.sum(axis=1) + ARMS * WORKLOADS * WARMUPS
    )


def mean_of_rounds(
    machine: Machine, *, loss: float, limit: float = 0.05, rounds: int = 5, same_session: bool = False
) -> Result:
    """pytest-benchmark: `--benchmark-compare-fail=mean:5%` against the run saved last; five rounds at least.

    PercentageRegressionCheck in src/pytest_benchmark/utils.py. `same_session`: the run saved last is one of this session.
    """
    session = machine.session()
    stored = session if same_session else machine.session()
    before = machine.means(machine.runs(stored, loss=0.0, at=0.0), rounds)
    now = machine.means(machine.runs(session, loss=loss, at=2.0 if same_session else 0.0), rounds)
    slower = np.exp(now - before)[:, THROUGHPUT, 0] > 1 + limit
    sides = 2 if same_session else 1
    return _result(
        slower.any(axis=1),
        launches=sides * ARMS,
        starts=sides * ARMS * WORKLOADS * (rounds + WARMUPS),
    )


# The largest U of a two-sided Mann-Whitney test at 0.05 that is significant, by values a side.
_CRITICAL_U = {10: 23, 20: 127}


def mann_whitney(machine: Machine, *, loss: float, n: int = 10, restarts: bool = False) -> Result:
    """benchstat: Mann-Whitney at 0.05 on every row, ten (better twenty) values a side, taken in one session.

    AssumeNothing in benchmath/anone.go (golang.org/x/perf). `restarts`: each value from a server run of its own, in turn;
    without it `-count=n` measures n times in one.
    """
    session = machine.session()
    if restarts:
        before, now = (
            np.concatenate(
                [machine.means(machine.runs(session, loss=lost, at=2.0 * (2 * i + of)), 1) for i in range(n)],
                axis=-1,
            )
            for of, lost in ((0, 0.0), (1, loss))
        )
        launches, starts = 2 * n, 1
    else:
        before, now = (
            machine.starts(machine.runs(session, loss=lost, at=at), n)[:, :, 0]
            for lost, at in ((0.0, 0.0), (loss, 2.0))
        )
        launches, starts = 2, n
    below = rank_sum(before, now) - n * (n + 1) / 2  # pairs in which now is less, that is quicker
    return _result(
        (below <= _CRITICAL_U[n]).any(axis=1),
        launches=launches * ARMS,
        starts=launches * ARMS * WORKLOADS * (starts + WARMUPS),
    )


def alternating_pairs(
    machine: Machine, *, loss: float, limit: float = 0.02, pairs: int = 3, reps: int = 3
) -> Result:
    """imp: three pairs A B, B A, A B, a process each, three repeats; the mean of the pairs' changes below -2 % fails.

    scripts/verify_ab.sh of kekzl/imp; speculation and prefill, which it leaves out or only warns of, are left out here.
    """
    session = machine.session()
    changes = []
    for pair in range(pairs):
        at = (4.0 * pair, 4.0 * pair + 2.0)
        of_before, of_now = at if pair % 2 == 0 else at[::-1]
        before = machine.means(machine.runs(session, loss=0.0, at=of_before), reps)
        now = machine.means(machine.runs(session, loss=loss, at=of_now), reps)
        changes.append(np.expm1(before - now)[:, THROUGHPUT, 0])
    slower = np.mean(changes, axis=0) < -limit
    launches = 2 * pairs * ARMS
    return _result(slower.any(axis=1), launches=launches, starts=launches * WORKLOADS * (reps + WARMUPS))


def rolling_p95(
    machine: Machine, *, loss: float, limit: float = 0.05, days: int = 30, reps: int = 3
) -> Result:
    """TensorRT-LLM: one run against the 95th percentile of a three-day rolling mean of post-merge runs, less 5 or 10 %.

    calculate_baseline_metrics and prepare_regressive_test_cases in tests/integration/defs/perf/perf_regression_utils.py;
    the new value is part of its own history there, and here. 5 % after the merge (a warning), 10 % before it.
    """
    history = [_one_run(machine, 0.0, reps) for _ in range(days)]
    now = _one_run(machine, loss, reps)
    speeds = np.exp(-np.stack([*history, now], axis=-1))
    # Trailing mean of three; the first two days of fewer.
    sums = np.cumsum(speeds, axis=-1)
    smooth = np.concatenate(
        [sums[..., :1], sums[..., 1:2] / 2, sums[..., 2:3] / 3, (sums[..., 3:] - sums[..., :-3]) / 3], axis=-1
    )
    baseline = np.percentile(smooth, 95, axis=-1)
    return _result(
        (speeds[..., -1] < baseline * (1 - limit)).any(axis=1),
        launches=ARMS,
        starts=ARMS * WORKLOADS * (reps + WARMUPS),
    )


def rank_sum(before: Floats, now: Floats) -> Floats:
    """Return the sum of the ranks of `before` among both, along the last axis; values are continuous: no ties."""
    order = np.argsort(np.concatenate([before, now], axis=-1), axis=-1)
    places = np.arange(1, order.shape[-1] + 1)
    # Of U's two values this is the one that is small where `before` is quicker.
    return np.asarray(np.where(order < before.shape[-1], places, 0).sum(axis=-1), dtype=float)


def _one_run(machine: Machine, loss: float, reps: int) -> Floats:
    """Return what a session of its own with one server run measures, of throughput only."""
    return machine.means(machine.runs(machine.session(), loss=loss, at=0.0), reps)[:, THROUGHPUT, 0]


def _result(called: Bools | np.bool, *, launches: int, starts: Floats | int) -> Result:
    called = np.asarray(called)
    n = len(called)
    never = np.zeros(n, dtype=bool)
    return Result(
        called,
        never,
        never,
        np.full(n, float(launches)),
        np.broadcast_to(np.asarray(starts, dtype=float), (n,)),
    )
