"""Why speculation wins or loses: what its cycles make, beside the plain decode steps of its twin.

The arithmetic itself is verdicts/break_even.py; here it gets the medians of a run, one row an arm and workload.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from tokgate.records import LaunchEvidence, Record, RunEvidence
from tokgate.records.phases import Phase, PhaseSource
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.workload import WorkloadSpec
from tokgate.verdicts.break_even import BreakEven, break_even
from tokgate.verdicts.cycle_side import WITHOUT, carried
from tokgate.verdicts.launch_phases import SOURCES, LaunchPhases, launch_phases
from tokgate.verdicts.phase_parts import parts_of
from tokgate.verdicts.series import Series, series_of


class Arithmetic(Record):
    """One EAGLE-3 arm under one workload, of one stream. Medians of barrier starts; null where it is not known."""

    launch: str
    arm: str
    workload: str
    draft_model: str | None = Field(description="the path of the draft model, as in the rig")
    pinned: float | None = Field(
        None, description="the accept length that the arm is pinned to; null: natural"
    )
    instrumented: bool = Field(
        False,
        description="its own launch carried instruments: the arm was not timed, and nothing here counts for throughput",
    )
    concurrency: int
    tokens: int | None = Field(
        None, description="n, of one answer: n - 1 of them are decoded, the first is prefill's"
    )
    accept_length: float | None = None
    cycle_ms: float | None = None
    tok_s: float | None = Field(
        None, description="accept_length x (n - 1) / n / cycle_ms: what these cycles make"
    )
    measured_tok_s: float | None = Field(
        None, description="decode rate of one stream, as the server counted it"
    )
    twin_tok_s: float | None = Field(None, description="decode rate of one stream over all control launches")
    break_even_cycle_ms: float | None = Field(
        None, description="with a longer cycle it is slower than its twin"
    )
    asked: float = Field(
        1.0,
        description="the speed-up that the rig asks of one stream where that is more than 1; 1: break-even",
    )
    asked_cycle_ms: float | None = Field(None, description="with a longer cycle it misses `asked`")
    headroom_ms: float | None = Field(
        None, description="break_even_cycle_ms - cycle_ms; below 0: too long by that"
    )
    break_even_accept_length: float | None = Field(None, description="with this cycle it wins from there on")
    verify_ms: float | None = Field(
        None,
        description="mean of a call, as the part of the timed cycle that it was of the cycle with instruments",
    )
    verify_at_most_ms: float | None = Field(
        None,
        description="with which verify reaches `asked`, the rest as it is; null with verify_ms: there is no room",
    )
    verify_source: PhaseSource | None = None
    verify_clock: Literal["gpu", "wall", "host"] | None = None
    why: str | None = Field(None, description="why there is no break-even")
    why_no_verify: str | None = None

    @property
    def loses(self) -> bool:
        return self.headroom_ms is not None and self.headroom_ms < 0


def arithmetic_rows(rig: Rig, evidence: RunEvidence) -> tuple[Arithmetic, ...]:
    """Return one row per timed launch of an EAGLE-3 arm and workload, in order of measurement.

    Of an arm that was not timed the launch that carried instruments stands in, and its row says so.
    """
    arms = {a.name: a for a in rig.arms if a.kind == "eagle3"}
    controls = [e for e in evidence.launches if e.launch.role in ("control", "control-again")]
    return tuple(
        _row(rig, evidence, launch, controls, arm=arms[launch.launch.arm], workload=workload)
        for launch in evidence.launches
        if launch.launch.arm in arms and _stands(launch, evidence)
        for workload in rig.workloads
        if any(g.workload == workload.name for g in launch.generations)
    )


def _stands(launch: LaunchEvidence, evidence: RunEvidence) -> bool:
    """Say whether a launch's cycles are taken for its arm's: of what was timed, else of what carried instruments."""
    if launch.launch.role != "instrumented":
        return launch.launch.role == "arm"
    return all(e.launch.arm != launch.launch.arm or e.launch.role != "arm" for e in evidence.launches)


def _row(
    rig: Rig,
    evidence: RunEvidence,
    launch: LaunchEvidence,
    controls: Sequence[LaunchEvidence],
    *,
    arm: ArmSpec,
    workload: WorkloadSpec,
) -> Arithmetic:
    series = _series(launch, workload.name)
    twin = [v for c in controls for v in _values(_series(c, workload.name), "decode_tok_s")]
    found = Arithmetic(
        launch=launch.launch.id,
        arm=arm.name,
        workload=workload.name,
        draft_model=arm.draft_model_path,
        pinned=None if isinstance(arm.acceptance, str) else arm.acceptance,
        instrumented=launch.launch.role == "instrumented",
        concurrency=workload.concurrency,
        asked=_asked(rig, arm.name, workload),
        tokens=_tokens(launch, workload.name),
        accept_length=_median(_values(series, "accept_length")),
        cycle_ms=_median(_values(series, "cycle_ms")),
        measured_tok_s=_median(_values(series, "decode_tok_s")),
        twin_tok_s=_median(twin),
    )
    known = _break_even(found)
    if isinstance(known, str):
        return found.model_copy(update={"why": known})
    told = {
        "tok_s": known.tok_s,
        "break_even_cycle_ms": known.limit_ms,
        "asked_cycle_ms": known.cycle_budget(found.asked - 1),
        "headroom_ms": known.headroom_ms,
        "break_even_accept_length": known.least_accept_length,
    }
    return found.model_copy(update={**told, **_verify(rig, evidence, found, known)})


def _asked(rig: Rig, arm: str, workload: WorkloadSpec) -> float:
    """Of several streams the limit is on all together, which no cycle of one stream tells."""
    twin = rig.twin(arm, workload.name)
    return max(1.0, twin.at_least) if twin is not None and workload.concurrency == 1 else 1.0


def _break_even(row: Arithmetic) -> BreakEven | str:
    if row.accept_length is None or row.cycle_ms is None:
        return "accept length and cycle are not known of every answer"
    if not row.twin_tok_s:
        return "the control arm was not measured in this session: pytest -m eagle3 does"
    if row.tokens is None or row.tokens < 2:
        return "the server did not tell how many tokens an answer has, or it has one alone"
    return break_even(
        accept_length=row.accept_length,
        tokens=row.tokens,
        decode_ms=1e3 / row.twin_tok_s,
        cycle_ms=row.cycle_ms,
    )


def _verify(rig: Rig, evidence: RunEvidence, row: Arithmetic, known: BreakEven) -> dict[str, object]:
    launches = carried(evidence, row.arm)
    if not launches:
        return {"why_no_verify": WITHOUT}
    found = [launch_phases(rig, evidence.info.run_id, e, row.workload) for e in launches]
    told = [one for one in found if isinstance(one, LaunchPhases)]
    by_source = [parts for source in SOURCES if (parts := parts_of(told, source)) is not None]
    if by_source:
        # A GPU's own clock first, as where a change is split.
        parts = min(by_source, key=lambda p: p.clock != "gpu")
        verify_ms = statistics.fmean(parts.parts[Phase.VERIFY]) * known.cycle_ms
        return {
            "verify_ms": verify_ms,
            "verify_at_most_ms": known.phase_budget(verify_ms, row.asked - 1),
            "verify_source": parts.source,
            "verify_clock": parts.clock,
        }
    whys = [one for one in found if isinstance(one, str)]
    return {"why_no_verify": whys[0] if whys else WITHOUT}


def _series(launch: LaunchEvidence, workload: str) -> dict[str, Series]:
    good = [g for g in launch.generations if g.workload == workload and g.good and not g.warmup]
    return series_of(tuple(sorted(good, key=lambda g: (g.batch, g.slot, g.index))))[0]


def _values(series: dict[str, Series], metric: str) -> tuple[float, ...]:
    return series[metric].values if metric in series else ()


def _median(values: Sequence[float]) -> float | None:
    return statistics.median(values) if values else None


def _tokens(launch: LaunchEvidence, workload: str) -> int | None:
    counts = [
        g.counters.completion_tokens
        for g in launch.generations
        if g.workload == workload and g.good and not g.warmup and g.counters is not None
    ]
    known = [c for c in counts if c]
    return round(statistics.median(known)) if known else None
