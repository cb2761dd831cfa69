"""Numbers of two sources that ought to be the same thing, and how far apart they may be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tokgate.records.phases import Agreement, Phase, PhaseReading

from .phases import PHASES, together

SHORTEST_MS = 1e-6  # no call of a model is shorter: what says so agrees with nothing
ANY = 1e6  # as an upper limit: none


class Limit(NamedTuple):
    """How far the first may lie below and above the second, relative to it, and why."""

    low: float
    high: float
    reason: str
    allowed_ms: float = 0.0  # apart by no more than this agrees, however short the phase


# Sums against the cycle, by the clock of the phases.
SUM = {
    "gpu": Limit(
        -0.20, 0.03,
        "sampling and the host's own work are in the cycle and in no phase (2 % of a cycle on one H200 in graphs); "
        "phases of one stream never add up to more than the cycle",
    ),
    "host": Limit(
        -0.60, 0.03,
        "by a host's clock a call ends when the host is done with it: where that is not the model's time, as with a small "
        "model, the calls may be half the cycle; calls of one thread never add up to more than the cycle",
    ),
}  # fmt: skip
# A phase by the probe against the same phase by the device timer.
PROBE = {
    Phase.VERIFY: Limit(
        -0.03, 0.15,
        "the probe's call has sampling and acceptance in it, the timer's pass has not (+0.5 % on one H200)", 0.10,
    ),
    Phase.DRAFT: Limit(
        -0.03, 0.35, "the probe's call prepares and picks the drafts around the timer's pass (+11 %)", 0.10
    ),
    Phase.DRAFT_EXTEND: Limit(
        -0.03, 0.50, "the probe's call prepares around the timer's pass (+27 %: 0.08 ms)", 0.10
    ),
    Phase.DECODE: Limit(-0.03, 0.15, "the probe's call has sampling in it, the timer's pass has not", 0.10),
}  # fmt: skip
# The same outside a graph, where the GPU waits for the host to launch each kernel: the probe's call has the waiting
# around the pass in it (on one H200 draft +99 %: 2.3 and 1.2 ms, verify +9 and +12 %).
EAGER = {
    phase: Limit(
        limit.low, high, "outside a graph the GPU waits for the host, around the timer's pass as well as in it", 0.10
    )
    for phase, limit, high in (
        (Phase.VERIFY, PROBE[Phase.VERIFY], 0.40),
        (Phase.DRAFT, PROBE[Phase.DRAFT], 3.0),
        (Phase.DRAFT_EXTEND, PROBE[Phase.DRAFT_EXTEND], 3.0),
        (Phase.DECODE, PROBE[Phase.DECODE], 0.40),
    )
}  # fmt: skip
# The same of a probe that has the host's clock while the rig has a device timer.
HOST = Limit(
    -0.15, ANY,
    "a call lasts on the host as long as the GPU works on it, or longer: shorter, it did not wait for the GPU",
    0.10,
)  # fmt: skip
# How far the probe's phase may lie outside what a trace allows.
TRACE = Limit(
    -0.10, 0.10,
    "a profiled phase is longer than a true one, and the time its kernels work is shorter: the probe's lies between",
    0.10,
)  # fmt: skip
# The same where there is no GPU: the profiler's own work is then part of what it measures.
TRACE_ON_HOST = Limit(
    -0.60, 0.50,
    "profiled on a host's clock a phase is longer than a true one; eight steps of a host that others use may be much "
    "quicker than the middle of hundreds",
    0.10,
)  # fmt: skip
CYCLE_BY_STEP = Limit(
    -0.20,
    0.03,
    "the scheduler's work between two steps is in the cycle and in no step; a step is no longer than a cycle",
)


def agreements(readings: Sequence[PhaseReading]) -> tuple[Agreement, ...]:
    """Compare every pair of sources that measured the same load; readings of single batch sizes are left out."""
    whole = [r for r in readings if r.requests is None]
    return (*_sums(whole), *_plain_steps(whole), *_probe_and_timer(whole), *_trace_and_probe(whole))


def uncompared(readings: Sequence[PhaseReading], workload: str) -> tuple[str, ...]:
    """Return which single phases two sources told of that two clocks keep from being compared, or all but so."""
    mine = [r for r in readings if r.requests is None and r.workload == workload and r.phase in PROBE]
    probe, timer, trace = (
        {r.phase: r.clock for r in mine if r.source == source}
        for source in ("probe", "device-timer", "trace")
    )
    found = []
    timed = [p.value for p, clock in timer.items() if probe.get(p) == "host" and clock == "gpu"]
    if timed:
        found.append(
            f"{', '.join(timed)} by the probe's host clock: too short beside the device timer's GPU time would be seen, "
            "too long not"
        )
    traced = [p.value for p, clock in trace.items() if probe.get(p, clock) != clock]
    if traced:
        found.append(f"{', '.join(traced)}: probe and trace not compared, they have two clocks")
    return tuple(found)


def _sums(readings: Sequence[PhaseReading]) -> Iterator[Agreement]:
    for verify in (r for r in readings if r.phase is Phase.VERIFY and r.source in ("device-timer", "probe")):
        cycle = _same_load(readings, Phase.STEP, "cycle", verify)
        mine = [r for p in PHASES if (r := together(readings, p, verify)) is not None]
        if cycle is None or len(mine) < len(PHASES):
            continue
        total, whole = math.fsum(r.mean_ms for r in mine), cycle.mean_ms
        if verify.clock == "host":
            # One pause of a busy host during one call of one rank is in its mean, and in no other rank's.
            total, whole = math.fsum(map(_typical, mine)), _typical(cycle)
        name = f"sum of phases ({verify.source}{_rank(verify)}) against the cycle"
        yield compared(name, verify, total, whole, SUM[verify.clock if verify.clock != "wall" else "gpu"])
        step = together(readings, Phase.STEP, verify)
        if step is not None:
            limit = CYCLE_BY_STEP if verify.clock == "gpu" else SUM["host"]
            name = f"step ({verify.source}{_rank(verify)}) against the cycle"
            yield compared(name, verify, _typical(step), _typical(cycle), limit)


def _plain_steps(readings: Sequence[PhaseReading]) -> Iterator[Agreement]:
    """A server without speculation has no phases: its step itself against the decode time of a token."""
    for decode in (r for r in readings if r.phase is Phase.DECODE and r.source in ("device-timer", "probe")):
        cycle = _same_load(readings, Phase.DECODE, "cycle", decode)
        if cycle is not None:
            limit = CYCLE_BY_STEP if decode.clock == "gpu" else SUM["host"]
            first, second = (_typical(decode), _typical(cycle))
            name = f"decode ({decode.source}{_rank(decode)}) against the cycle"
            yield compared(name, decode, first, second, limit)


def _probe_and_timer(readings: Sequence[PhaseReading]) -> Iterator[Agreement]:
    for probe in (r for r in readings if r.source == "probe" and r.phase in PROBE):
        timer = _same_load(readings, probe.phase, "device-timer", probe)
        # Only the first rank's timer reports by default.
        if timer is not None and (timer.rank is None or probe.rank in (None, timer.rank)):
            name = f"{probe.phase.value}: probe{_rank(probe)} against device-timer"
            if probe.clock == "host":
                yield compared(f"{name}, host clock", probe, _typical(probe), timer.mean_ms, HOST)
                continue
            limits = EAGER if _eager(readings, probe) else PROBE
            yield compared(name, probe, probe.mean_ms, timer.mean_ms, limits[probe.phase])


def _eager(readings: Sequence[PhaseReading], probe: PhaseReading) -> bool:
    """Say whether the steps ran outside a graph, most of them; only verify and plain decode tell."""
    told = [together(readings, phase, probe) for phase in (Phase.VERIFY, Phase.DECODE)]
    shares = [r.graph_share for r in told if r is not None and r.graph_share is not None]
    return bool(shares) and max(shares) < 0.5


def _trace_and_probe(readings: Sequence[PhaseReading]) -> Iterator[Agreement]:
    for probe in (r for r in readings if r.source == "probe" and r.phase in PROBE):
        traces = [
            r for r in readings if r.source == "trace" and r.phase is probe.phase and _load(r) == _load(probe)
        ]
        trace = next((r for r in traces if probe.rank is None or r.rank in (None, probe.rank)), None)
        if trace is None or trace.clock != probe.clock:
            continue
        typical = _typical(probe)
        least = trace.mean_ms if trace.busy_ms is None else trace.busy_ms
        allowed = min(max(typical, least), trace.mean_ms) if least <= trace.mean_ms else trace.mean_ms
        name = (
            f"{probe.phase.value}: probe{_rank(probe)} against trace ({least:.3f} to {trace.mean_ms:.3f} ms)"
        )
        yield compared(name, probe, typical, allowed, TRACE if trace.clock == "gpu" else TRACE_ON_HOST)


def compared(name: str, of: PhaseReading, first_ms: float, second_ms: float, limit: Limit) -> Agreement:
    """Compare two numbers from 0 up; the result's limits have what is allowed in milliseconds in them."""
    beside = max(second_ms, SHORTEST_MS)
    low = min(limit.low, -limit.allowed_ms / beside)
    high = max(limit.high, limit.allowed_ms / beside)
    apart = first_ms / beside - 1
    agrees = low <= apart <= high and min(first_ms, second_ms) > SHORTEST_MS
    upto = f"to {high:+.0%}" if high < ANY else "and longer"
    verdict = "within" if agrees else "outside"
    return Agreement(
        name=name,
        concurrency=of.concurrency,
        workload=of.workload,
        first_ms=first_ms,
        second_ms=second_ms,
        apart=apart,
        limit=(low, high),
        agrees=agrees,
        reason=limit.reason,
        words=f"{name}: {first_ms:.3f} and {second_ms:.3f} ms, {apart:+.1%}, {verdict} {low:+.0%} {upto}",
    )


def _same_load(
    readings: Sequence[PhaseReading], phase: Phase, source: str, beside: PhaseReading
) -> PhaseReading | None:
    return next(
        (r for r in readings if r.phase is phase and r.source == source and _load(r) == _load(beside)), None
    )


def _typical(r: PhaseReading) -> float:
    return r.p50_ms or r.mean_ms


def _load(r: PhaseReading) -> tuple[int, str | None]:
    return (r.concurrency, r.workload)


def _rank(r: PhaseReading) -> str:
    return "" if r.rank is None else f", rank {r.rank}"
