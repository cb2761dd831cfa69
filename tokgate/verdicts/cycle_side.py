"""One side of a change: speed, accept length and cycle as timed, phases as parts of a cycle that carried instruments."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from tokgate.records import LaunchEvidence, RunEvidence, Verdict
from tokgate.records.record import Record
from tokgate.records.side import BASE
from tokgate.rig.models import Rig
from tokgate.stats.levels import RunValues

from .arm_restarts import taking
from .baselines.file import BaselineFile
from .establish import Established, establish_workload
from .launch_phases import LaunchPhases, launch_phases
from .ledger import run_values
from .run_values import values_now

CHECK = "change"
WITHOUT = "no launch of it carried instruments (-m verify)"
NONE_STORED = "no launch with instruments measured this workload when it was stored: name it in [instruments] and store the baseline anew"
# Where a report tells of the phases, as a next step.
WHICH_PHASE = (
    "Which phase of the cycle it is: 'Phases of a cycle' and 'Since the stored baseline' in the report, or run "
    "pytest perf_tests -m verify"
)


class Side(Record):
    """Values are one a barrier start: the median of its rates, the mean of its accept lengths and cycles.

    Accept lengths and cycles stay apart by server run: the same place in two of them is the same prompt.
    """

    label: str  # a run's id, a baseline's name
    launches: int  # server runs that were timed
    decode_tok_s: tuple[float, ...]
    # The same by server run, which is what a change is decided by; (): not told apart.
    runs: tuple[RunValues, ...] = ()
    accept_length: tuple[tuple[float, ...], ...] = ()  # (): no speculation
    cycle_ms: tuple[tuple[float, ...], ...] = ()
    tokens: int | None = None  # of one answer
    phases: tuple[LaunchPhases, ...] = ()
    why_no_phases: str | None = None  # set where `phases` is empty and there is speculation
    warnings: tuple[str, ...] = ()

    @property
    def speculates(self) -> bool:
        return bool(self.accept_length and self.cycle_ms)


def side_of_run(
    rig: Rig, run: RunEvidence, arm: str, workload: str, *, label: str | None = None
) -> Side | str:
    """Return what a run measured of an arm and workload, or why it cannot be judged.

    Every launch that stands for the arm and took the workload must be established. The launch with instruments gives nothing but parts of
    its own cycle, and may be missing.
    """
    timed = [e for e in run.launches if e.launch.arm == arm and e.launch.stands_for_arm]
    name = label or run.info.run_id
    return _side(rig, run, _Launches(arm, timed, carried(run, arm)), workload, label=name)


def side_of_base(rig: Rig, run: RunEvidence, arm: str, workload: str, *, label: str) -> Side | str:
    """Return the same of the base of a change that the run measured beside the arm."""
    mine = [e for e in run.launches if e.launch.arm == arm and e.launch.side == BASE]
    timed = [e for e in mine if e.launch.role == "side"]
    carrying = [e for e in mine if e.launch.carries]
    return _side(rig, run, _Launches(arm, timed, carrying), workload, label=label)


class _Launches(NamedTuple):
    arm: str
    timed: Sequence[LaunchEvidence]
    carrying: Sequence[LaunchEvidence]


def _side(rig: Rig, run: RunEvidence, launches: _Launches, workload: str, *, label: str) -> Side | str:
    timed = taking(launches.timed, workload)
    if not timed:
        return f"no launch of {launches.arm}"
    found = [establish_workload(rig, e, workload, check=CHECK) for e in timed]
    for one in found:
        if isinstance(one, Verdict):
            return one.headline
    side = side_of_timed(label, [one for one in found if isinstance(one, Established)])
    return with_phases(rig, side, run.info.run_id, launches.carrying, workload)


def with_phases(rig: Rig, side: Side, run_id: str, carrying: Sequence[LaunchEvidence], workload: str) -> Side:
    """Return a side with what its launches with instruments tell of its phases, or why they tell nothing."""
    phases, why = _phases(rig, run_id, carrying, workload)
    return side.model_copy(update={"phases": phases, "why_no_phases": why if side.speculates else None})


def side_of_timed(label: str, good: Sequence[Established]) -> Side:
    """Return what launches that are established tell without instruments."""
    lengths, cycles = _means(good, "accept_length"), _means(good, "cycle_ms")
    return Side(
        label=label,
        launches=len(good),
        decode_tok_s=tuple(v for one in good for v in one.series["decode_tok_s"].values),
        runs=values_now(good, "decode_tok_s"),
        accept_length=lengths,
        cycle_ms=cycles,
        tokens=_tokens(good),
        why_no_phases=WITHOUT if lengths else None,
        warnings=tuple(dict.fromkeys(w for one in good for w in one.series["decode_tok_s"].warnings)),
    )


def side_of_baseline(stored: BaselineFile) -> Side:
    tokens = stored.identity.get("workload.output_tokens", "")
    lengths, cycles = (
        tuple(tuple(statistics.fmean(start) for start in one.values(metric)) for one in stored.launches)
        for metric in ("accept_length", "cycle_ms")
    )
    return Side(
        label=stored.name,
        launches=len(stored.launches),
        decode_tok_s=tuple(statistics.median(start) for start in stored.by_start("decode_tok_s")),
        runs=run_values(stored.launches, "decode_tok_s"),
        accept_length=lengths if all(lengths) else (),
        cycle_ms=cycles if all(cycles) else (),
        tokens=int(tokens) if tokens.isdecimal() else None,
        phases=stored.phases,
        why_no_phases=NONE_STORED if all(lengths) and not stored.phases else None,
    )


def carried(run: RunEvidence, arm: str) -> tuple[LaunchEvidence, ...]:
    """Return the launches of an arm that carried instruments."""
    return tuple(e for e in run.launches if e.launch.arm == arm and e.launch.role == "instrumented")


def _phases(
    rig: Rig, run_id: str, carrying: Sequence[LaunchEvidence], workload: str
) -> tuple[tuple[LaunchPhases, ...], str | None]:
    found = [launch_phases(rig, run_id, e, workload) for e in taking(carrying, workload)]
    told = tuple(one for one in found if isinstance(one, LaunchPhases))
    if told:
        return told, None
    whys = [one for one in found if isinstance(one, str)]
    return (), whys[0] if whys else WITHOUT


def _means(good: Sequence[Established], metric: str) -> tuple[tuple[float, ...], ...]:
    series = [one.series[metric] for one in good if metric in one.series]
    if len(series) < len(good):
        return ()
    return tuple(tuple(statistics.fmean(start) for start in one.by_start) for one in series)


def _tokens(good: Sequence[Established]) -> int | None:
    counts = [g.counters.completion_tokens for one in good for g in one.good if g.counters is not None]
    known = [c for c in counts if c]
    return round(statistics.median(known)) if known else None
