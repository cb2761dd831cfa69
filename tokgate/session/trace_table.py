"""From the traces of an instrumented launch to readings, by rank."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tokgate.parsers.phase_trace import PhaseTrace, read_phase_trace
from tokgate.records.phases import GraphReading, PhaseReading, TraceFacts

from .instrument_files import TRACE, TraceTaken
from .plain_files import record_of
from .trace_files import FOLDER, pieces_of, rank_in

MOST_TRACES = 64  # one a rank
MOST_BYTES = 1 << 30  # of all of them together


class TraceTold(NamedTuple):
    readings: tuple[PhaseReading, ...]
    graphs: tuple[GraphReading, ...]  # of the first rank: every rank runs the same steps
    facts: tuple[TraceFacts, ...]
    why: str | None  # why there is nothing, or less than all


def read_traces(folder: Path, launch_id: str) -> TraceTold:
    """Read every trace in a launch's folder. Never raises on odd input."""
    taken = record_of(folder / TRACE, TraceTaken)
    if taken is None:
        return TraceTold((), (), (), "no trace was taken: the launch broke off before")
    whys = [taken.why] if taken.why is not None else []
    whys += [f"{name} was left behind: {why}" for name, why in taken.files.items()]
    told = []
    paths, too_many = _bounded(sorted(p for p in (folder / FOLDER).glob("*.json*") if p.is_file()))
    whys += [too_many] if too_many is not None else []
    for path in paths:
        trace = read_phase_trace(
            pieces_of(path),
            file=f"launches/{launch_id}/{FOLDER}/{path.name}",
            concurrency=taken.concurrency,
            workload=taken.workload,
        )
        if trace.why is not None:
            whys.append(trace.why)
        else:
            told.append(_ranked(trace, rank_in(path.name)))
            whys += [f"{path.name}: {u.why}" for u in trace.unread]
    return TraceTold(
        readings=tuple(r for trace in told for r in trace.readings),
        graphs=tuple(trace.graphs for trace in told[:1]),
        facts=tuple(trace.facts for trace in told if trace.facts is not None),
        why="; ".join(dict.fromkeys(whys)) or None,
    )


def _ranked(trace: PhaseTrace, rank: int | None) -> PhaseTrace:
    """A server of one rank does not say in its trace which one that is; the file's name does."""
    readings = tuple(r if r.rank is not None else r.model_copy(update={"rank": rank}) for r in trace.readings)
    facts = trace.facts
    if facts is not None and facts.rank is None:
        facts = facts.model_copy(update={"rank": rank})
    return trace.model_copy(update={"readings": readings, "facts": facts})


def _bounded(paths: list[Path]) -> tuple[list[Path], str | None]:
    """Return the first of them, as many as are read, and what was left out."""
    found: list[Path] = []
    total = 0
    for path in paths:
        with suppress(OSError):  # gone, or no file: what reads it tells that it is torn
            total += path.stat().st_size
        if len(found) == MOST_TRACES or total > MOST_BYTES:
            return found, (
                f"{len(paths)} traces, {len(found)} of them read: at most {MOST_TRACES}, of {MOST_BYTES >> 20} MiB "
                "together"
            )
        found.append(path)
    return found, None
