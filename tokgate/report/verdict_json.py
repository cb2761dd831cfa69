"""verdict.json: the published, machine-readable result of a run (schema/verdict.schema.json)."""

from __future__ import annotations

import importlib.resources
import json
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokgate.records import (
    EnvironmentTruth,
    LaunchEvidence,
    RunEvidence,
    VariableState,
    Verdict,
)
from tokgate.rig.models import Rig
from tokgate.verdicts.baselines.identity import bounded_version
from tokgate.verdicts.run_again import as_typed

from .arithmetic import arithmetic_rows
from .arms import arm_rows, starts_of
from .cause import causes_of, with_causes
from .conclusion import SessionEnd, conclude
from .culprits import table_of as culprit_of
from .diagnosed import diagnosis_of
from .first_run import stored_together
from .gain import gains
from .leading import BASELINE
from .nccl_matrix import truth_of_run
from .patch_report import patch_report
from .phases import tables_of
from .qualified import qualification_of
from .sampling import sampling_of
from .series import series_of
from .since_baseline import since_baseline
from .sweep import ROLES as OF_A_SWEEP
from .sweep import table_of as sweep_of
from .telemetry import watched_launches
from .verdict_file import Differing, EnvironmentSummary, LaunchSummary, VerdictFile
from .warm_up import with_warm_ups

SCHEMA_FILE = "schema/verdict.schema.json"


def build(
    evidence: RunEvidence,
    verdicts: Sequence[Verdict],
    rig: Rig,
    *,
    end: SessionEnd | None = None,
    folder: Path | None = None,
) -> VerdictFile:
    """Gather what all reports of a run show. `end` is how the test session went, where there was one.

    `folder` is the run's own, where copies of the baselines lie that it was compared with.
    """
    end = end or SessionEnd()
    series = series_of(evidence)
    arithmetic = arithmetic_rows(rig, evidence)
    # Where a change alone was asked for, a stored number is no answer that anybody waits for.
    stored = rig.sides is None or any(v.check == BASELINE for v in verdicts)
    since = since_baseline(rig, evidence, folder) if folder is not None and stored else ()
    diagnosis = diagnosis_of(rig, evidence, verdicts, folder)
    causes = causes_of(since, arithmetic, diagnosis)
    patch = patch_report(rig, evidence, verdicts)
    verdicts = with_causes(stored_together(with_warm_ups(rig, evidence, verdicts)), causes, since)
    conclusion = conclude(verdicts, end, causes)
    slates = (evidence.slate_at_start, *(launch.slate for launch in evidence.launches), evidence.slate_at_end)
    return VerdictFile(
        simulated=evidence.info.simulated or rig.simulated,
        outcome=conclusion.outcome,
        exit_code=conclusion.exit_code,
        headline=conclusion.headline,
        do=as_typed(conclusion.do, evidence.info) if conclusion.do is not None else None,
        run=evidence.info,
        rig_description=rig.description,
        verdicts=verdicts,
        arms=arm_rows(
            # A launch of a sweep, or of a search, runs no arm as written: its numbers stand in a table of their own.
            [s for s in series if s.role not in (*OF_A_SWEEP, "culprit")],
            {w.name: w.concurrency for w in rig.workloads},
            arithmetic,
            starts_of(evidence),
        ),
        arithmetic=arithmetic,
        gains=gains(rig, evidence),
        diagnosis=diagnosis,
        since_baseline=since,
        patch=patch,
        series=series,
        launches=tuple(_launch(launch) for launch in evidence.launches),
        environment=tuple(
            _environment(launch.launch.id, launch.environment)
            for launch in evidence.launches
            if launch.environment is not None
        ),
        nccl=truth_of_run(rig, evidence),
        phases=tables_of(evidence),
        culprit=culprit_of(evidence, rig),
        sweep=sweep_of(evidence, rig),
        sampling=sampling_of(rig, evidence, verdicts),
        slates=tuple(s for s in slates if s is not None),
        telemetry=watched_launches(evidence),
        fingerprint=evidence.fingerprint,
        differences=tuple(
            Differing(
                check=v.check,
                arm=v.arm,
                reference=v.reference.label if v.reference else None,
                difference=difference,
            )
            for v in verdicts
            for difference in v.differs
        ),
        qualification=qualification_of(folder, rig, evidence.fingerprint) if folder is not None else None,
        part=end.part,
        unclassified=end.unclassified,
    )


def dump(file: VerdictFile) -> str:
    """Return the text of verdict.json: ASCII, so that not even a lone surrogate can break a reader."""
    told = finite(file.model_dump(mode="python"))
    return json.dumps(told if _on_nodes(told) else _without_nodes(told), indent=1, allow_nan=False) + "\n"


def _on_nodes(value: Any) -> bool:
    """Say whether a process of a further node is told of: of a server on one host the number of a node says nothing."""
    if isinstance(value, dict):
        return bool("pid" in value and value.get("node")) or any(map(_on_nodes, value.values()))
    return isinstance(value, list | tuple) and any(map(_on_nodes, value))


def _without_nodes(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nodes(v) for k, v in value.items() if not (k == "node" and "pid" in value)}
    return [_without_nodes(item) for item in value] if isinstance(value, list | tuple) else value


def verdict_schema() -> dict[str, Any]:
    """Return the JSON Schema of verdict.json, computed from the records."""
    schema = VerdictFile.model_json_schema(mode="serialization")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "tokgate verdict.json",
    }


def published_schema() -> dict[str, Any]:
    """Return the JSON Schema as it lies in the package."""
    text = importlib.resources.files(__package__).joinpath(SCHEMA_FILE).read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _launch(evidence: LaunchEvidence) -> LaunchSummary:
    server, counted = evidence.server, Counter(g.status.value for g in evidence.generations if not g.warmup)
    return LaunchSummary(
        launch=evidence.launch.id,
        arm=evidence.launch.arm,
        role=evidence.launch.role,
        side=evidence.launch.side,
        line=server.line.shown if server else None,
        additions=server.line.additions if server else (),
        sglang_version=bounded_version(server.sglang_version) if server and server.sglang_version else None,
        ready_after_s=server.ready_after_s if server else None,
        failure=evidence.failure,
        alive_at_end=evidence.liveness.alive and evidence.liveness.answered if evidence.liveness else None,
        stopped_after_s=evidence.stop.seconds if evidence.stop else None,
        generations=dict(counted),
        faults=evidence.faults,
        notes=evidence.notes,
    )


def _environment(launch: str, truth: EnvironmentTruth) -> EnvironmentSummary:
    return EnvironmentSummary(
        launch=launch,
        processes=len(truth.processes),
        variables=len({row.variable for row in truth.rows}),
        states=dict(Counter(row.state.value for row in truth.rows)),
        open_cells=tuple(row for row in truth.rows if row.state is not VariableState.PRESENT),
        overwritten=truth.overwritten,
        strays=truth.strays,
    )


def finite(value: Any) -> Any:
    """Replace NaN and infinities, which JSON lacks, by null; an interval with an open end is no interval."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        items = [finite(item) for item in value]
        lost = any(item is None and part is not None for item, part in zip(items, value, strict=True))
        return None if lost else items
    return value
