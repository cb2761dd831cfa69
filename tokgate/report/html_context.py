"""All that the templates of the gate's section are rendered with."""

from __future__ import annotations

from pathlib import Path

from tokgate.records import RunEvidence

from . import (
    arithmetic_cells,
    culprits,
    diagnosed,
    figures,
    fleet_rows,
    gain,
    given,
    patch_words,
    phases,
    qualified,
    room,
    sampling,
    simulated,
    split_cells,
    sweep,
    verdict_table,
)
from .charts.part import charts_part
from .environment_matrix import LEGEND, matrix_of
from .first_screen import first_screen
from .given import with_given
from .html_environment import SCRIPTS, own
from .made_from import made_from
from .nccl_matrix import LEGEND as NCCL_LEGEND
from .nccl_matrix import STAGES, five_states
from .raw_files import raw_files
from .since_baseline import changes
from .telemetry_strip import strips
from .verdict_file import VerdictFile, truths_of
from .verdict_rows import difference_rows
from .when import when


def context(file: VerdictFile, evidence: RunEvidence, folder: Path, link_base: str) -> dict[str, object]:
    """Return the context; `link_base` is put in front of links into the run folder."""
    options = given.kept(folder)
    return {
        "file": file,
        "first": first_screen(file, str(folder), options),
        "again": with_given(file.run.command, options),
        "table": verdict_table.verdict_table(file),
        "verdict_columns": verdict_table.COLUMNS,
        "verdict_numbers": verdict_table.NUMBERS,
        "differences": difference_rows(file),
        "hosts": fleet_rows.tables(file.fleet) if file.fleet is not None else None,
        "made_from": made_from,
        "when": when,
        "charts": charts_part(file, evidence, folder),
        "matrices": room.within(
            [m for m in map(matrix_of, evidence.launches) if m is not None],
            room.MOST_MATRICES,
            lambda m: m.proven < m.cells,
        ),
        "slates": room.within(file.slates, room.MOST_SLATES, lambda s: not s.clean),
        "watched_launches": room.within(file.telemetry, room.MOST_WATCHED, lambda w: bool(w.notes)),
        "lines": room.within(
            file.launches, room.MOST_LINES, lambda one: one.failure is not None or bool(one.faults)
        ),
        "most_rows": room.MOST_ROWS,
        "arms": room.within(file.arms, room.MOST_ROWS),
        "arithmetic_rows": room.within(file.arithmetic, room.MOST_ROWS),
        "legend": LEGEND,
        "nccl": tuple(map(five_states, truths_of(file))),
        "nccl_stages": STAGES,
        "nccl_legend": NCCL_LEGEND,
        "arithmetic": arithmetic_cells,
        "diagnosed": diagnosed,
        "gain": gain,
        "culprit": culprits,
        "patch": patch_words,
        "qualified": qualified,
        "split_cells": split_cells,
        "since": tuple(changes(file.since_baseline)),
        "phase_columns": phases.COLUMNS,
        "phase_rows": [phases.cells(row) for row in phases.phase_rows(file.phases)],
        "phases_unknown": phases.unknown_of(file.phases),
        "phases_disputed": phases.disputed(file.phases),
        "sweep_columns": sweep.COLUMNS,
        "sweep_rows": sweep.rows_of(file.sweep) if file.sweep is not None else (),
        "sweep_lines": sweep.lines_of(file.sweep) if file.sweep is not None else (),
        "sweep_note": sweep.NOTE,
        "sampling": sampling,
        "strips": strips(evidence.launches),
        "folder": folder,
        "files": raw_files(folder),
        "figures": figures,
        "simulated": simulated,
        "script": own(*SCRIPTS),
        "link_base": link_base,
    }
