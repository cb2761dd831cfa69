"""From a launch's folder to its table of phases; pure, so that a stored run says the same again, bit for bit."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tokgate.parsers.batch_lines import read_batch_lines
from tokgate.parsers.device_timer import read_device_timer
from tokgate.parsers.graph_truth import captured, graph_by_log
from tokgate.parsers.prometheus import read_metrics
from tokgate.parsers.startup import read_startup
from tokgate.records import LaunchEvidence
from tokgate.records.phases import (
    GraphReading,
    GraphTruth,
    PhaseReading,
    PhaseTable,
    ProbeCost,
    TraceFacts,
)
from tokgate.rig.instruments import PROBE_OFF, PROBE_ON
from tokgate.server.running import LOG_NAME
from tokgate.stats.agreement import agreements
from tokgate.stats.phases import cycle_reading, rest_by_cycle

from .instrument_files import TIMER, scrape_name
from .plain_files import text_of
from .probe_nodes import read_probe_everywhere
from .trace_table import read_traces

LOG_BYTES = 32 << 20
SCRAPE_BYTES = 4 << 20  # SGLang's /metrics has about 100 KiB a rank; a longer one is cut, and damaged


def phases_of(folder: Path, evidence: LaunchEvidence) -> PhaseTable:
    """Read what lies in a launch's folder beside its generations, samples and windows. Never raises on odd input.

    Only what began within a judged start counts: warm-ups, and what runs between workloads, are cut away.
    """
    found = _Gathered()
    load = _concurrency(evidence)
    for workload, together in load.items():
        cycle = cycle_reading(evidence.samples, workload=workload, concurrency=together)
        found.readings += [cycle] if cycle is not None else []
    if evidence.launch.carries:
        told = read_probe_everywhere(folder, evidence, load)
        found.readings += told.readings
        found.graphs += told.graphs
        found.unknown |= {"probe": told.why} if told.why is not None else {}
        found.cost = told.cost
        _take_timer(folder, evidence, load, found)
        traced = read_traces(folder, evidence.launch.id)
        found.readings += traced.readings
        found.graphs += traced.graphs
        found.traces += traced.facts
        found.unknown |= {"trace": traced.why} if traced.why is not None else {}
        found.readings += rest_by_cycle(found.readings)
    return PhaseTable(
        launch=evidence.launch.id,
        readings=tuple(found.readings),
        unknown=found.unknown,
        graphs=_graphs(folder / LOG_NAME, evidence, load, found.graphs),
        traces=tuple(found.traces),
        agreements=agreements(found.readings),
        cost=found.cost,
    )


@dataclass
class _Gathered:
    readings: list[PhaseReading] = field(default_factory=list)
    graphs: list[GraphReading] = field(default_factory=list)
    unknown: dict[str, str] = field(default_factory=dict)
    traces: list[TraceFacts] = field(default_factory=list)
    cost: ProbeCost | None = None


def _concurrency(evidence: LaunchEvidence) -> dict[str, int]:
    """Return how many generations of each workload ran together, workloads in the order of measurement.

    Starts that were taken to learn what the probe costs are no workload.
    """
    sizes = Counter(
        (g.workload, g.batch)
        for g in evidence.generations
        if not g.warmup and g.workload not in (PROBE_OFF, PROBE_ON)
    )
    found: dict[str, int] = {}
    for (workload, _), size in sizes.items():
        found[workload] = max(size, found.get(workload, 0))
    return found


def _take_timer(
    folder: Path,
    evidence: LaunchEvidence,
    load: dict[str, int],
    into: _Gathered,
) -> None:
    environment = evidence.server.line.environment if evidence.server is not None else {}
    if TIMER not in environment:
        into.unknown["device-timer"] = (
            f"not asked for ({TIMER}): the rig has no GPU, or no server was started"
        )
        return
    version = evidence.server.sglang_version if evidence.server is not None else None
    whys = []
    for workload, together in load.items():
        texts = [
            text_of(folder / scrape_name(workload, when), most=SCRAPE_BYTES) for when in ("before", "after")
        ]
        if None in texts:
            whys.append(f"{workload}: a scrape of /metrics is missing")
            continue
        before, after = (read_metrics(text or "") for text in texts)
        found = read_device_timer(before, after, concurrency=together, workload=workload, version=version)
        into.readings += found.readings
        into.graphs += found.graphs
        whys += [f"{workload}: {found.why}"] if found.why is not None else []
    if whys:
        into.unknown["device-timer"] = "; ".join(whys)


def _graphs(
    log: Path, evidence: LaunchEvidence, load: dict[str, int], more: list[GraphReading]
) -> GraphTruth | None:
    text = text_of(log, most=LOG_BYTES)
    if text is None:
        return GraphTruth(readings=tuple(more), why_not_told=f"no {log.name}") if more else None
    lines = read_batch_lines(text).decode
    server = evidence.server
    info = server.server_info if server is not None else {}
    sizes = captured(read_startup(text), info, speculative=bool(info.get("speculative_algorithm")))
    by_log = tuple(graph_by_log(lines, concurrency=n) for n in (*sorted(set(load.values())), None))
    return GraphTruth(
        readings=(*by_log, *more),
        sizes=sizes.sizes,
        padded=sizes.padded,
        captured_by=sizes.by,
        why_not_told=sizes.why,
    )
