"""From the probe's files of a launch to readings, by workload, by rank, by start."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple, TypeVar

from pydantic import ValidationError

from tokgate.parsers.probe_file import read_probe_file
from tokgate.parsers.probe_records import ProbeFile
from tokgate.records import LaunchEvidence, Unread
from tokgate.records.phases import GraphReading, Phase, PhaseReading
from tokgate.records.telemetry import Window
from tokgate.stats.phases import probe_readings, starts_of

from .instrument_files import CLOCK, LEFT, HostClock, Left

FIRST_WITH_PLUGINS = (0, 5, 11)
R = TypeVar("R", HostClock, Left)
_PIECE = 1 << 20
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_SCHEDULER = re.compile(r"scheduler\b(?:.*\bTP(\d{1,4}))?")


class ProbeTold(NamedTuple):
    readings: tuple[PhaseReading, ...]
    graphs: tuple[GraphReading, ...]  # of the first rank: every rank runs the same steps
    why: str | None  # why there is nothing, or less than all


def read_probe(folder: Path, evidence: LaunchEvidence, load: dict[str, int]) -> ProbeTold:
    """Read every file of the probe. `load`: how many ran together in each workload. Never raises on odd input."""
    mark = evidence.server.mark if evidence.server is not None else None
    files = [
        read_probe_file(_pieces(path), name=path.name, mark=mark) for path in sorted(folder.glob("*.jsonl"))
    ]
    left = _read(folder / LEFT, Left)
    clock = _read(folder / CLOCK, HostClock) or HostClock()
    whys = [
        *_whys(files),
        *(f"{name} was left behind: {why}" for name, why in (left or Left()).files.items()),
        *_silent(files, evidence),
    ]
    ranked = _ranked([f for f in files if f.why is None], evidence)
    readings: list[PhaseReading] = []
    graphs: list[GraphReading] = []
    for number, (rank, file) in enumerate(ranked):
        for workload, together in load.items():
            windows = [w for w in evidence.windows if w.workload == workload and not w.warmup]
            found = _of_workload(file, windows, clock, rank, (workload, together))
            readings += found
            if found and number == 0:
                graphs.append(_by_probe(found, together))
    if ranked and not readings:
        whys.append("no call of it began within a judged start")
    if not files and not whys:
        whys.append(_why_no_file(evidence, left))
    return ProbeTold(tuple(readings), tuple(graphs), "; ".join(dict.fromkeys(whys)) or None)


def _ranked(files: list[ProbeFile], evidence: LaunchEvidence) -> list[tuple[int | None, ProbeFile]]:
    """Return the files by rank: as the file tells it, else as its process is called.

    Among several, one without a rank, or with another's (data parallel groups), gets a free number and says so.
    """
    titles = _schedulers(evidence)
    told = [(_rank(file, titles), file) for file in files]
    if len(told) < 2:
        return told
    often = Counter(rank for rank, _ in told)
    free = (n for n in count() if n not in often)
    found: list[tuple[int | None, ProbeFile]] = []
    for rank, file in told:
        if rank is not None and often[rank] == 1:
            found.append((rank, file))
        else:
            number = next(free)
            has = "tells no rank" if rank is None else f"tells rank {rank}, as another does"
            note = Unread(text=file.name, why=f"it {has}: numbered {number} here")
            found.append((number, file.model_copy(update={"unread": (*file.unread, note)})))
    return sorted(found, key=lambda pair: pair[0] or 0)


def _rank(file: ProbeFile, titles: dict[int, int | None]) -> int | None:
    if file.header is None:
        return None
    return file.header.rank if file.header.rank is not None else titles.get(file.header.pid or 0)


def _schedulers(evidence: LaunchEvidence) -> dict[int, int | None]:
    """Return the ranks of the scheduler processes, by process id, as they are called."""
    rows = evidence.environment.rows if evidence.environment is not None else ()
    found = {r.pid: _SCHEDULER.match(r.process) for r in rows}
    return {pid: int(match[1]) if match[1] else None for pid, match in found.items() if match is not None}


def _silent(files: Iterable[ProbeFile], evidence: LaunchEvidence) -> Iterator[str]:
    """Yield the schedulers that have no file, where any scheduler that is known has one."""
    wrote = {f.header.pid for f in files if f.header is not None}
    known = _schedulers(evidence)
    if not wrote & set(known):
        return  # none at all, or they count process ids as a container does
    for pid, rank in known.items():
        if pid not in wrote:
            yield f"the scheduler of rank {'?' if rank is None else rank} (pid {pid}) has written no file"


def _of_workload(
    file: ProbeFile, windows: list[Window], clock: HostClock, rank: int | None, load: tuple[str, int]
) -> tuple[PhaseReading, ...]:
    by_start = {
        w.batch: [
            c for c in file.calls if w.start_ns + clock.offset_ns <= c.began_ns <= w.end_ns + clock.offset_ns
        ]
        for w in windows
    }
    found = probe_readings(
        [c for calls in by_start.values() for c in calls],
        clock=file.clock,
        concurrency=load[1],
        workload=load[0],
        rank=rank,
        warnings=(*file.warnings, *(f"{u.text}: {u.why}" for u in file.unread)),
    )
    return tuple(
        r.model_copy(update={"starts": starts_of(r.phase, by_start)}) if r.requests is None else r
        for r in found
    )


def _by_probe(found: Iterable[PhaseReading], concurrency: int) -> GraphReading:
    whole = {r.phase: r for r in found if r.requests is None}
    mine = whole.get(Phase.VERIFY) or whole.get(Phase.DECODE)
    if mine is None or mine.graph_share is None:
        why = "no call tells whether it ran in a graph"
        return GraphReading(source="probe", share=None, n=0, concurrency=concurrency, why=why)
    return GraphReading(source="probe", share=mine.graph_share, n=mine.n, concurrency=concurrency)


def _whys(files: Iterable[ProbeFile]) -> Iterator[str]:
    for file in files:
        if file.why is not None:
            yield file.why
        elif file.header is not None and (why := file.header.why_not(Phase.VERIFY)) is not None:
            yield why


def _why_no_file(evidence: LaunchEvidence, left: Left | None) -> str:
    version = evidence.server.sglang_version if evidence.server is not None else None
    numbers = _VERSION.match(version or "")
    if numbers is not None and tuple(int(n) for n in numbers.groups()) < FIRST_WITH_PLUGINS:
        first = ".".join(map(str, FIRST_WITH_PLUGINS))
        return f"SGLang {version} is not supported: its plugin framework, which loads the probe, came with {first}"
    if evidence.server is None:
        return "no server was started"
    if left is None:
        return "nobody looked for the probe's files: the launch broke off before"
    return left.why or (
        "no scheduler has written a file of the probe (phases-PID.jsonl): SGLang did not load it by the entry point "
        "tokgate_probe of the group sglang.srt.plugins"
    )


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            yield piece


def _read(path: Path, kind: type[R]) -> R | None:
    try:
        return kind.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None
