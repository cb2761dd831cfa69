"""Where the time of a cycle goes, as a table: a row per launch, workload and source that tells of phases."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tokgate.records import RunEvidence
from tokgate.records.phases import Phase, PhaseReading, PhaseSource, PhaseTable, ProbeCost
from tokgate.stats.phases import together
from tokgate.stats.ranks import ALONE, SlowRank, slow_by_kernels, slow_rank, slowest

from .figures import NONE

_WHOLE = (Phase.STEP, Phase.DECODE)
_COSTS: dict[PhaseSource, str] = {"cycle": "nothing", "trace": "never timed"}


@dataclass(frozen=True)
class PhaseRow:
    """Text cells, nothing escaped yet; of several ranks the one whose verify takes longest, and one slow by itself."""

    launch: str
    workload: str
    source: str  # with its clock
    rank: str
    draft: str  # mean ms a call, as all that follow but p50 and p95
    verify: str
    verify_p50: str
    verify_p95: str
    draft_extend: str
    rest: str
    cycle: str
    graph: str
    n: str
    cost: str  # of measuring, of what it measures


COLUMNS = (
    "launch", "workload", "source", "rank", "draft ms", "verify ms", "verify p50", "verify p95", "extend ms",
    "rest ms", "cycle ms", "in a graph", "n", "cost",
)  # fmt: skip


def tables_of(evidence: RunEvidence) -> tuple[PhaseTable, ...]:
    """Return the table of each launch without batch sizes and single starts: the run folder has those.

    Where the starts tell that a rank is slow by itself, those that tell it stay.
    """
    return tuple(
        launch.phases.model_copy(update={"readings": tuple(_kept(launch.phases.readings))})
        for launch in evidence.launches
        if launch.phases is not None
    )


def _kept(readings: Sequence[PhaseReading]) -> Iterator[PhaseReading]:
    whole = [r.model_copy(update={"quantiles_ms": ()}) for r in readings if r.requests is None]
    for r in whole:
        load = (r.source, r.workload, r.concurrency)
        alike = [o for o in whole if (o.source, o.workload, o.concurrency) == load]
        telling = r.phase in ALONE and slow_rank(alike) is not None
        yield r if telling or not r.starts else r.model_copy(update={"starts": ()})


def phase_rows(tables: Iterable[PhaseTable]) -> tuple[PhaseRow, ...]:
    """Return one row per workload and source of the launches that carry a source of phases."""
    return tuple(
        row
        for table in tables
        if any(r.source != "cycle" for r in table.readings)
        for row in _of_table(table)
    )


def cells(row: PhaseRow) -> tuple[str, ...]:
    """Return the cells in the order of COLUMNS."""
    return tuple(str(value) for value in vars(row).values())


def unknown_of(tables: Iterable[PhaseTable]) -> tuple[tuple[str, str, str], ...]:
    """Return launch, source and why it tells nothing."""
    return tuple((t.launch, source, why) for t in tables for source, why in t.unknown.items())


def costs_of(tables: Iterable[PhaseTable]) -> tuple[str, ...]:
    """Return what the probe costs in each launch that carried one, with its interval, or why that is unknown."""
    return tuple(f"probe on {t.launch} costs: {t.cost.words}" for t in tables if t.cost is not None)


def disputed(tables: Iterable[PhaseTable]) -> tuple[tuple[str, str], ...]:
    """Return launch and words of each pair of sources that does not agree."""
    return tuple((t.launch, a.words) for t in tables for a in t.agreements if not a.agrees)


def _of_table(table: PhaseTable) -> list[PhaseRow]:
    keys = dict.fromkeys((r.workload, r.concurrency, r.source) for r in table.readings if r.requests is None)
    rows = []
    for workload, concurrency, source in keys:
        mine = [
            r
            for r in table.readings
            if (r.workload, r.concurrency, r.source, r.requests) == (workload, concurrency, source, None)
        ]
        first = slowest([r for r in mine if r.phase is Phase.VERIFY] or mine)
        slow = slow_rank(mine) or slow_by_kernels(table.traces)
        ranks = [r for r in mine if r.phase is Phase.VERIFY and slow is not None and r.rank == slow.rank]
        shown = [r for r in (first, *ranks) if r is not None]
        rows += [
            _row(table.launch, mine, r, _cost(source, table.cost), slow)
            for r in ({id(r): r for r in shown}).values()
        ]
    return rows


def _cost(source: PhaseSource, probe: ProbeCost | None) -> str:
    """Return what measuring costs, in a cell; the readings themselves say it in full."""
    if source == "probe" and probe is not None and probe.why is None and probe.interval is not None:
        low, high = probe.interval
        return f"{low:.2%} to {high:.2%}" if low > 0 else f"below {max(high, 0.0):.2%}"
    return _COSTS.get(source, "unknown" if source == "probe" else NONE)


def _row(
    launch: str, readings: Sequence[PhaseReading], first: PhaseReading, cost: str, slow: SlowRank | None
) -> PhaseRow:
    found = {phase: together(readings, phase, first) for phase in Phase}
    verify = found[Phase.VERIFY]
    cycle = next((r for p in _WHOLE if (r := found[p]) is not None), None)
    ranks = len({r.rank for r in readings if r.rank is not None})
    rank = NONE if first.rank is None else str(first.rank)
    if slow is not None and slow.rank == first.rank:
        rank = f"{rank}: slow by itself"
    elif ranks > 1:
        rank = f"{rank}: longest, {ranks} ranks"
    return PhaseRow(
        launch=launch,
        workload=first.workload or NONE,
        source=f"{first.source} ({first.clock})",
        rank=rank,
        draft=_ms(found[Phase.DRAFT]),
        verify=_ms(verify),
        verify_p50=NONE if verify is None or verify.p50_ms is None else f"{verify.p50_ms:.3f}",
        verify_p95=NONE if verify is None or verify.p95_ms is None else f"{verify.p95_ms:.3f}",
        draft_extend=_ms(found[Phase.DRAFT_EXTEND]),
        rest=_ms(found[Phase.REST]),
        cycle=_ms(cycle),
        graph=NONE if verify is None or verify.graph_share is None else f"{verify.graph_share:.0%}",
        n=str(first.n),
        cost=cost,
    )


def _ms(reading: PhaseReading | None) -> str:
    return NONE if reading is None else f"{reading.mean_ms:.3f}"
