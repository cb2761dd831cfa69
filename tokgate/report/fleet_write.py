"""The files of a run on several hosts: those of each host in its own folder, then one report of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tokgate.records import RunEvidence, RunInfo, Verdict
from tokgate.records.fleet import Fleet
from tokgate.rig.models import Rig

from .conclusion import SessionEnd
from .fleet import HostPart, merge
from .verdict_file import VerdictFile
from .verdict_json import build
from .write import write_all, write_files

Load = Callable[[Path], tuple[RunEvidence, Rig]]


def write_fleet(
    folder: Path,
    fleet: Fleet,
    verdicts: Sequence[Verdict],
    *,
    info: RunInfo,
    rig: Rig,
    load: Load,
    end: SessionEnd | None = None,
    into: Path | None = None,
) -> tuple[VerdictFile, RunEvidence]:
    """Write everything that `write_all` writes, for each host and for all of them. Raises OSError.

    `load` reads the run folder of one host back. A part judged again, `into` a folder of its own, leaves the hosts' own
    reports as they are.
    """
    parts = []
    for shift in fleet.measured():
        place = folder / shift.folder
        evidence, rig_there = load(place)
        own = [v for v in verdicts if v.host == shift.label]
        if into is None:
            file = write_all(place, evidence, own, rig_there)
        else:
            file = build(evidence, own, rig_there, folder=place)
        parts.append(HostPart(shift, evidence, file))
    nowhere = [v for v in verdicts if v.host is None]
    file, evidence = merge(parts, fleet, info=info, rig=rig, verdicts=nowhere, end=end)
    write_files(folder, file, evidence, verdicts, rig, into=into)
    return file, evidence
