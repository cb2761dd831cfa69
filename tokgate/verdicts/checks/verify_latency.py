"""Promise: a verify call takes no longer than its budget says, in the middle (p50) and in the tail (p95)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.records.phases import Phase, PhaseReading
from tokgate.rig.instruments import instrumented
from tokgate.rig.models import Rig
from tokgate.stats.phases import FEWEST_FOR_P95, together
from tokgate.stats.ranks import ALONE, SlowRank
from tokgate.verdicts.arm_runs import History, Launches, all_of
from tokgate.verdicts.budgets import judge_metric
from tokgate.verdicts.derived import Derivation, VerifyPart
from tokgate.verdicts.establish import Established, establish_workload
from tokgate.verdicts.phases import (
    doubts,
    limited,
    not_told,
    probe_of,
    slowest_verify,
    waited_for,
    why_no_verify,
)
from tokgate.verdicts.series import Series
from tokgate.verdicts.validity import establish_arm

CHECK = "verify_latency"
P50, P95 = "verify_ms", "verify_p95_ms"
IN_GRAPHS = 0.5  # of the calls; fewer, and the host's launches are what takes long


@dataclass(frozen=True)
class _Run:
    """One launch with instruments: the rank that speaks for its verify, and the one with the longest tail."""

    numbers: Established
    reading: PhaseReading
    tail: PhaseReading
    ranks: tuple[PhaseReading, ...]

    @property
    def phases(self) -> Sequence[PhaseReading]:
        table = self.numbers.launch.phases
        return table.readings if table is not None else ()


def verify_latency(
    rig: Rig,
    launches: Launches,
    workload: str,
    controls: Sequence[LaunchEvidence] = (),
    *,
    history: History | None = None,
    timed: Sequence[LaunchEvidence] = (),
) -> tuple[Verdict, ...]:
    """Judge p50 and p95 of the verify calls, one value a barrier start, each in the rank where it is the longest.

    `launches`: all launches of the arm with instruments, in order of time; the plan has one, and a second confirms
    what it shows. Without a source of single calls a budget is `invalid`, with what was looked for; without a budget
    that is `inconclusive`. `controls`: the timed control arm, which a limit derived from break-even needs and no other
    does; cycle and accept length for it come from these launches, like verify. `history`: as of
    `decode_throughput`. `timed`: server runs of the arm without instruments, whose prompts are the same.
    """
    established = establish_arm(instrumented(rig), all_of(launches), workload, check=CHECK)
    if isinstance(established, Verdict):
        return (established,)
    runs: list[_Run] = []
    for one in established:
        run = _read(rig, one)
        if isinstance(run, Verdict):
            return (run,)
        runs.append(run)
    told = [run.numbers for run in runs]
    metrics = [P50]
    warnings = tuple(dict.fromkeys(d for one in told for d in doubts(one.launch, workload)))
    silent = next((one for one in told if P95 not in one.series), None)
    if silent is None or limited(rig, silent.launch, workload, (P95,)):
        metrics.append(P95)
    else:
        warnings = (*warnings, f"no p95: {silent.why_missing(P95)}")
    slow = next((s for one in told if (s := waited_for(one.launch, workload)) is not None), None)
    lines = (
        *(line for run in runs for line in _evidence(run)),
        *((slow.words,) if slow is not None else ()),
    )
    beside = _timed(rig, timed, workload)
    found: list[Verdict] = []
    for m in metrics:
        parts = tuple(_part(run.reading if m == P50 else run.tail, run.phases) for run in runs)
        found += judge_metric(
            rig,
            told,
            m,
            check=CHECK,
            evidence=lines if m == P50 else (*(_tail_words(run) for run in runs), *lines),
            warnings=warnings,
            derive=Derivation(rig, told, controls, CHECK, parts, beside),
            history=history,
            instruments=True,
        )
    return tuple(_led(_outside(v, [run.reading for run in runs]), slow) for v in found)


def _read(rig: Rig, established: Established) -> _Run | Verdict:
    """Return what the probe tells of one launch, or why its verify is not known."""
    launch, workload = established.launch, established.workload
    ranks = probe_of(launch, Phase.VERIFY, workload)
    reading = slowest_verify(launch, workload)
    if reading is None:
        return not_told(rig, established, (P50, P95), check=CHECK, why=why_no_verify(launch))
    starts = len({g.batch for g in established.good})
    if len(reading.starts) < starts:
        why = f"the probe tells of verify in {len(reading.starts)} of {starts} starts"
        return not_told(rig, established, (P50, P95), check=CHECK, why=why)
    tail = _longest_tail(ranks)
    return _Run(_with_series(established, reading, tail), reading, tail, ranks)


def _timed(rig: Rig, launches: Sequence[LaunchEvidence], workload: str) -> tuple[Established, ...]:
    """Return the runs that may be judged and tell a cycle; what is wrong with others their own tests say."""
    found = (establish_workload(rig, one, workload, check=CHECK) for one in launches)
    return tuple(
        one
        for one in found
        if isinstance(one, Established) and {"cycle_ms", "accept_length"} <= one.series.keys()
    )


def _outside(verdict: Verdict, readings: Sequence[PhaseReading]) -> Verdict:
    """Of a verify that is too long and ran outside a CUDA graph, that is what to say first."""
    share = min((r.graph_share for r in readings if r.graph_share is not None), default=None)
    if share is None or share > IN_GRAPHS or verdict.outcome is not Outcome.REGRESSED:
        return verdict
    return verdict.model_copy(
        update={
            "headline": f"{verdict.headline}; {1 - share:.0%} of its calls ran outside a CUDA graph",
            "do": "bring verify into a CUDA graph first: see graph_share, --disable-cuda-graph and the captured sizes "
            f"in server.log. Then: {verdict.do}",
        }
    )


def _led(verdict: Verdict, slow: SlowRank | None) -> Verdict:
    """A rank that the others wait for is the first thing to say of a verify that is too long."""
    if slow is None or verdict.outcome is not Outcome.REGRESSED:
        return verdict
    return verdict.model_copy(
        update={
            "headline": f"{verdict.headline}; rank {slow.rank} is slow by itself, the others wait for it",
            "do": f"look at the GPU of rank {slow.rank} first: its clocks, its heat, its link, and who else uses it. "
            f"Then: {verdict.do}",
        }
    )


def _longest_tail(ranks: Sequence[PhaseReading]) -> PhaseReading:
    """Return the rank with the longest p95; one that does not tell its own in every start may be it, and is."""
    return max((r for r in ranks if r.starts), key=_p95)


def _p95(reading: PhaseReading) -> float:
    tails = [s.p95_ms for s in reading.starts if s.p95_ms is not None]
    return statistics.median(tails) if len(tails) == len(reading.starts) else math.inf


def _tail_words(run: _Run) -> str:
    reading, ranks = run.tail, run.ranks
    tails = [t for r in ranks if r.starts and math.isfinite(t := _p95(r))]
    which = "unknown" if reading.rank is None else str(reading.rank)
    between = f", p95 from {min(tails):.3f} to {max(tails):.3f} ms" if tails else ""
    return f"rank {which} has the longest tail of {len(ranks)}{between}"


def _part(reading: PhaseReading, others: Sequence[PhaseReading]) -> VerifyPart:
    """Return what verify takes of each start's cycle.

    A cycle is a mean over its calls, and so is verify's part. On a host's clock one pause of a busy host in one rank
    is in that rank's mean and in nobody's cycle: there the middle stands for it.
    """
    middle = reading.clock == "host"
    ms = tuple(s.p50_ms if middle else s.mean_ms for s in reading.starts)
    beside = ((p, together(others, p, reading)) for p in ALONE)
    rest = {p.value: r.p50_ms if middle else r.mean_ms for p, r in beside if r is not None}
    return VerifyPart(
        ms,
        f"{'p50' if middle else 'mean'} by the probe, {reading.clock} clock",
        {name: ms for name, ms in rest.items() if ms is not None},
    )


def _with_series(established: Established, reading: PhaseReading, tail: PhaseReading) -> Established:
    source = f"probe, {reading.clock} clock"
    tails = [s.p95_ms for s in tail.starts if s.p95_ms is not None]
    series = {P50: _series(P50, [s.p50_ms for s in reading.starts], source, reading)}
    missing = {}
    if len(tails) == len(reading.starts):
        series[P95] = _series(P95, tails, f"probe, {tail.clock} clock", tail)
    elif len(tail.starts) < len(reading.starts):
        missing[P95] = (
            f"rank {tail.rank} tells of verify in {len(tail.starts)} of {len(reading.starts)} starts"
        )
    else:
        few = min(s.n for s in tail.starts)
        missing[P95] = f"a start has {few} verify calls, a p95 needs {FEWEST_FOR_P95}: raise output_tokens"
    raw = (*established.raw, f"launches/{established.launch.launch.id}/probe")
    return established.model_copy(
        update={
            "series": {**established.series, **series},
            "missing": {**established.missing, **missing},
            "raw": raw,
        }
    )


def _series(metric: str, values: Sequence[float], source: str, reading: PhaseReading) -> Series:
    return Series(
        metric=metric, by_start=tuple((v,) for v in values), sources=(source,), warnings=reading.warnings
    )


def _evidence(run: _Run) -> list[str]:
    reading, ranks = run.reading, run.ranks
    graph = "not told" if reading.graph_share is None else f"{reading.graph_share:.1%}"
    found = [f"{reading.n} calls, mean {reading.mean_ms:.3f} ms; in a CUDA graph: {graph}"]
    if len(ranks) > 1:
        middles = [r.p50_ms if r.p50_ms is not None else r.mean_ms for r in ranks]
        which = "unknown" if reading.rank is None else str(reading.rank)
        found.append(
            f"judged: rank {which}, whose verify is the longest of {len(ranks)} ranks; their p50 from "
            f"{min(middles):.3f} to {max(middles):.3f} ms. In verify all wait for all: the longest is not the slow one"
        )
    if reading.cost is not None:
        found.append(f"cost of measuring: {reading.cost}")
    return found
