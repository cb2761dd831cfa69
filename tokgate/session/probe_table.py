"""From the probe's files of a launch to readings, by workload, by rank, by start."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import NamedTuple

from tokgate.parsers.probe_records import Call, ProbeFile
from tokgate.records import LaunchEvidence, Unread
from tokgate.records.phases import GraphReading, Phase, PhaseReading, ProbeCost
from tokgate.records.telemetry import Window
from tokgate.rig.instruments import PROBE_OFF, PROBE_ON
from tokgate.stats.phases import PHASES, probe_readings, starts_of

from .cost_table import cost_of
from .instrument_files import LEFT, HostClock, Left
from .plain_files import record_of
from .probe_files import clock_in, read_files

FIRST_WITH_PLUGINS = (0, 5, 11)
_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")
_SCHEDULER = re.compile(r"scheduler\b(?:.*\bTP(\d{1,4}))?")


class ProbeTold(NamedTuple):
    readings: tuple[PhaseReading, ...]
    graphs: tuple[GraphReading, ...]  # of the first rank: every rank runs the same steps
    why: str | None  # why there is nothing, or less than all
    cost: ProbeCost | None = None


def read_probe(folder: Path, evidence: LaunchEvidence, load: dict[str, int]) -> ProbeTold:
    """Read every file of the probe. `load`: how many ran together in each workload. Never raises on odd input."""
    mark = evidence.server.mark if evidence.server is not None else None
    files, unread = read_files(folder, mark)
    left = record_of(folder / LEFT, Left)
    clock, sure, blurred = clock_in(folder, evidence.windows)
    whys = [
        *unread,
        *([blurred] if blurred is not None and files else []),
        *_whys(files, _looked_for(evidence)),
        *(f"{name} was left behind: {why}" for name, why in (left or Left()).files.items()),
        *_silent(files, evidence),
        *_misnamed(files, evidence),
    ]
    ranked = _ranked([f for f in files if f.why is None and sure], evidence)
    readings: list[PhaseReading] = []
    graphs: list[GraphReading] = []
    for number, (rank, file) in enumerate(ranked):
        for workload, together in load.items():
            windows = [w for w in evidence.windows if w.workload == workload and not w.warmup]
            found = _of_workload(file, windows, clock, rank, (workload, together))
            readings += found
            if found and number == 0:
                graphs.append(_by_probe(found, together))
    if ranked:
        whys += _never_called(ranked[0][1], readings, evidence, load)  # the others have the same
    if not files and not whys:
        whys.append(_why_no_file(evidence, left))
    why = "; ".join(dict.fromkeys(whys)) or None
    cost = _cost(
        [f for _, f in ranked], evidence, clock, load, _why_no_cost(why if not ranked else None, left)
    )
    return ProbeTold(_with_cost(readings, cost), tuple(graphs), why, cost)


def _never_called(
    file: ProbeFile, readings: Sequence[PhaseReading], evidence: LaunchEvidence, load: Iterable[str]
) -> Iterator[str]:
    """Yield which phases were hooked and have no call in a judged start, and how the file ends."""
    told = {(r.workload, r.phase) for r in readings}
    hooked = [p for p in _looked_for(evidence) if file.why_not(p) is None]
    judged = {w.workload for w in evidence.windows if not w.warmup}
    whys = [
        f"no call of {', '.join(silent)} began within a judged start of {workload}"
        for workload in load
        if workload in judged and (silent := [p for p in hooked if (workload, p) not in told])
    ]
    if not readings:
        whys = ["no call of it began within a judged start"]
    yield from whys
    if whys:
        yield from file.warnings


def _cost(
    files: Sequence[ProbeFile],
    evidence: LaunchEvidence,
    clock: HostClock,
    load: dict[str, int],
    why: str | None,
) -> ProbeCost | None:
    if not load:
        return None
    workload, together = next(iter(load.items()))
    judged = [w for w in evidence.windows if not w.warmup]
    on = [w for w in judged if w.workload in (workload, PROBE_ON)]
    off = [w for w in judged if w.workload == PROBE_OFF]
    counted = [sum(len(_within(f, w, clock)) for f in files for w in windows) for windows in (on, off)]
    return cost_of(evidence, workload, together, calls_on=counted[0], calls_off=counted[1], why=why)


def _why_no_cost(why: str | None, left: Left | None) -> str | None:
    if left is not None and left.switch is not None:
        return f"the probe's switch could not be turned: {left.switch}"
    return why


def _with_cost(readings: Iterable[PhaseReading], cost: ProbeCost | None) -> tuple[PhaseReading, ...]:
    if cost is None:
        return tuple(readings)
    return tuple(r.model_copy(update={"cost": cost.words}) for r in readings)


def _within(file: ProbeFile, window: Window, clock: HostClock) -> list[Call]:
    begin, end = window.start_ns + clock.offset_ns, window.end_ns + clock.offset_ns
    return [c for c in file.calls if begin <= c.began_ns <= end]


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


def _misnamed(files: Iterable[ProbeFile], evidence: LaunchEvidence) -> Iterator[str]:
    """Yield the files whose header and whose process tell different ranks."""
    titles = _schedulers(evidence)
    for header in (f.header for f in files if f.header is not None and f.header.rank is not None):
        titled = titles.get(header.pid or 0)
        if titled is not None and titled != header.rank:
            yield (
                f"the probe of pid {header.pid} tells rank {header.rank}, its process is called rank {titled}: which "
                "rank its calls are of is not sure"
            )


def _of_workload(
    file: ProbeFile, windows: list[Window], clock: HostClock, rank: int | None, load: tuple[str, int]
) -> tuple[PhaseReading, ...]:
    by_start = {w.batch: _within(file, w, clock) for w in windows}
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


def _whys(files: Iterable[ProbeFile], looked_for: Iterable[Phase]) -> Iterator[str]:
    for file in files:
        if file.why is not None:
            yield file.why
        elif file.header is not None:
            yield from (w for p in looked_for if (w := file.why_not(p)) is not None)


def _looked_for(evidence: LaunchEvidence) -> tuple[Phase, ...]:
    """Return the phases that the probe is carried for: a server without speculation has none but its decode step."""
    info = evidence.server.server_info if evidence.server is not None else {}
    return PHASES if info.get("speculative_algorithm") else (Phase.DECODE,)


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
