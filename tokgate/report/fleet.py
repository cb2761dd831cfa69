"""One report of several hosts: each host's own, its arms and launches named after it, and how far hosts lie apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tokgate.records import LaunchEvidence, RunEvidence, RunInfo, Verdict
from tokgate.records.fleet import Fleet, HostSeen, Shift, ShiftState
from tokgate.records.side import BASE
from tokgate.rig.models import Rig
from tokgate.stats.hosts import HostSpread, host_spread
from tokgate.verdicts.diagnosis.cause import Cause, Diagnosis
from tokgate.verdicts.run_again import as_typed
from tokgate.verdicts.subjects import on_side

from .arms import TOTAL
from .conclusion import SessionEnd, conclude
from .fleet_facts import fingerprint_of
from .fleet_patch import change_rows, merged_patch
from .fleet_table import FleetTable, HostRow, SpreadRow
from .leading import worst_first
from .series import Series
from .verdict_file import VerdictFile

# Metrics of which hosts are held against each other, in the order of a reader's questions.
_HELD = ("decode_tok_s", "total_tok_s", "cycle_ms", "accept_length", "ttft_ms")
_OF_A_LAUNCH = re.compile(r"(?<![\w/.-])launches/(?=\d\d-)")
_ARM_ROLES = ("control", "control-again", "arm", "restart", "side")


class HostPart(NamedTuple):
    """What one shift measured, judged within its own host."""

    shift: Shift
    evidence: RunEvidence
    file: VerdictFile


def labelled(name: str, host: str) -> str:
    """Return "eagle3-2step@gpu7", as pytest-xdist writes what it runs in groups."""
    return f"{name}@{host}"


def merge(
    parts: Sequence[HostPart],
    fleet: Fleet,
    *,
    info: RunInfo,
    rig: Rig,
    verdicts: Sequence[Verdict] = (),
    end: SessionEnd | None = None,
) -> tuple[VerdictFile, RunEvidence]:
    """Return the report of the whole run and the evidence that its charts are drawn from.

    `verdicts`: those that no host stands for: what could be measured nowhere.
    """
    files = [_of_host(part) for part in parts]
    evidence = RunEvidence(
        info=info,
        launches=tuple(launch for part in parts for launch in _launches(part)),
        fingerprint=fingerprint_of({part.shift.label: part.evidence.fingerprint for part in parts}),
    )
    judged = tuple(worst_first([*verdicts, *(v for file in files for v in file.verdicts)]))
    conclusion = conclude(judged, end)
    first = files[0] if files else None
    merged = VerdictFile(
        simulated=info.simulated or rig.simulated,
        outcome=conclusion.outcome,
        exit_code=conclusion.exit_code,
        headline=conclusion.headline,
        do=as_typed(conclusion.do, info) if conclusion.do is not None else None,
        run=info,
        rig_description=rig.description,
        verdicts=judged,
        diagnosis=_diagnosis({part.shift.label: file for part, file in zip(parts, files, strict=True)}),
        arms=_all(files, "arms"),
        arithmetic=_all(files, "arithmetic"),
        gains=_all(files, "gains"),
        since_baseline=_all(files, "since_baseline"),
        patch=merged_patch(
            rig, fleet, [file.patch for file in files if file.patch is not None], judged, selection=info.asked
        ),
        series=_all(files, "series"),
        launches=_all(files, "launches"),
        environment=_all(files, "environment"),
        phases=_all(files, "phases"),
        sweep=next((file.sweep for file in files if file.sweep is not None), None),
        slates=_all(files, "slates"),
        telemetry=_all(files, "telemetry"),
        fingerprint=evidence.fingerprint,
        differences=_all(files, "differences"),
        qualification=first.qualification if first is not None else None,
        part=end.part if end is not None else None,
        unclassified=end.unclassified if end is not None else (),
        fleet=table_of(fleet, parts, rig).model_copy(
            update={
                "changes": tuple(change_rows(judged)),
                "nccl": tuple(file.nccl for file in files if file.nccl is not None),
            }
        ),
    )
    return merged, evidence


def table_of(fleet: Fleet, parts: Sequence[HostPart], rig: Rig) -> FleetTable:
    """Return which host did what, and how far they lie apart."""
    return FleetTable(
        hosts=tuple(_host_row(fleet, host) for host in fleet.hosts),
        shifts=fleet.shifts,
        groups=fleet.groups,
        unmeasured=fleet.unmeasured,
        spread=tuple(spread_of(parts, rig)),
        words=fleet.words,
    )


def spread_of(parts: Sequence[HostPart], rig: Rig) -> Iterable[SpreadRow]:
    """Yield one row for each arm, workload and metric that two or more hosts measured. Shifts of one host are one."""
    streams = {workload.name: workload.concurrency for workload in rig.workloads}
    found: dict[tuple[str, str, str, str], dict[str, list[float]]] = {}
    for metric in _HELD:
        for part in parts:
            for series in part.file.series:
                same = series.metric == TOTAL and streams.get(series.workload) == 1  # it is the decode rate
                if series.metric != metric or series.workload not in streams or same or not _counts(series):
                    continue
                # The base of a change is the same server on all hosts, as the head is.
                arm = on_side(series.arm, BASE) if series.role == "side" else series.arm
                key = (arm, series.workload, metric, series.unit)
                if series.summary is not None:
                    found.setdefault(key, {}).setdefault(part.shift.host, []).append(series.summary.median)
    for (arm, workload, metric, unit), runs in found.items():
        spread: HostSpread | None = host_spread(runs)
        if spread is not None:
            yield SpreadRow(
                arm=arm,
                workload=workload,
                metric=metric,
                unit=unit,
                values={host: tuple(values) for host, values in runs.items()},
                spread=spread,
            )


def _counts(series: Series) -> bool:
    return series.role in _ARM_ROLES and series.summary is not None and series.summary.median > 0


def _host_row(fleet: Fleet, host: HostSeen) -> HostRow:
    shifts = [s for s in fleet.shifts if s.host == host.name]
    done = [s for s in shifts if s.state is ShiftState.MEASURED]
    return HostRow(
        host=host.name,
        address=host.address,
        state=host.state,
        why=host.why or next((s.why for s in shifts if s.state is ShiftState.BROKEN_OFF), None),
        do=host.do,
        groups=tuple(g for s in done for g in s.groups),
        launches=sum(len(s.measured) for s in done),
        lost=tuple(name for s in shifts if s.state is not ShiftState.MEASURED for name in s.measured),
        seconds=sum(s.seconds or 0.0 for s in shifts),
        differs=host.differs,
        notes=host.notes,
    )


def _launches(part: HostPart) -> Iterable[LaunchEvidence]:
    for evidence in part.evidence.launches:
        launch, host = evidence.launch, part.shift.label
        names = {"id": labelled(launch.id, host), "arm": labelled(launch.arm, host)}
        yield evidence.model_copy(update={"launch": launch.model_copy(update=names)})


def _of_host(part: HostPart) -> VerdictFile:
    """Return a host's report with every arm and launch in it named after the host."""
    host = part.shift.label
    told = _relabelled(part.file.model_dump(mode="python"), host)
    told = _placed(told, part.shift.folder)
    for verdict in told["verdicts"]:
        verdict["host"] = host
        verdict["headline"] = f"{host}: {verdict['headline']}"
    for launch in told["launches"]:
        launch["host"] = host
    return VerdictFile.model_validate(told)


def _relabelled(value: Any, host: str) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(key, item, host) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_relabelled(item, host) for item in value]
    return value


def _placed(value: Any, folder: str) -> Any:
    """Return the same with files of launches named from the run folder, in sentences too."""
    if isinstance(value, dict):
        return {key: _placed(item, folder) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_placed(item, folder) for item in value]
    if not isinstance(value, str):
        return value
    # The run is stored, with what every host measured, not this host's part of it; `compare` takes parts.
    stored = re.sub(rf"(baseline update \S+)/{re.escape(folder)}(?= --)", r"\1", value)
    return _OF_A_LAUNCH.sub(f"{folder}/launches/", stored)


def _renamed(key: str, value: Any, host: str) -> Any:
    if key in ("arm", "launch") and isinstance(value, str):
        return labelled(value, host)
    if key == "launches" and value and all(isinstance(one, str) for one in value):
        return [labelled(one, host) for one in value]
    return _relabelled(value, host)


def _all(files: Sequence[VerdictFile], field: str) -> tuple[Any, ...]:
    return tuple(item for file in files for item in getattr(file, field))


def _diagnosis(files: Mapping[str, VerdictFile]) -> Diagnosis:
    found = {host: file.diagnosis for host, file in files.items()}
    causes = tuple(cause for d in found.values() for cause in d.causes)
    return Diagnosis(
        causes=causes,
        excluded=tuple(_on(host, cause) for host, d in found.items() for cause in d.excluded),
        accounted=tuple(_on(host, cause) for host, d in found.items() for cause in d.accounted),
        note=next((d.note for d in found.values() if d.note), None) if not causes else None,
    )


def _on(host: str, cause: Cause) -> Cause:
    return cause.model_copy(update={"words": f"{host}: {cause.words}"})
