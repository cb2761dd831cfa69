"""The sections of summary.md on the session itself: what it measured beyond the plan, NCCL, and the machine meanwhile."""

from __future__ import annotations

from tokgate.records.nccl import NcclTruth

from . import sampling
from .markdown import table_row, text
from .nccl_matrix import STAGES, StageCell, five_states, tells
from .telemetry import line_of
from .verdict_file import VerdictFile, truths_of


def nccl_truth(file: VerdictFile) -> list[str]:
    found = [truth for truth in truths_of(file) if tells(truth)]
    return ["", "## NCCL truth", *(line for truth in found for line in _nccl_table(truth))] if found else []


def _nccl_table(truth: NcclTruth) -> list[str]:
    reason = f"no proof start: {text(truth.skipped)}" if truth.skipped else ""
    return [
        "",
        f"{text(truth.launch)}, a sign per rank, {len(truth.ranks)} ranks {reason}".rstrip(),
        "",
        f"| variable | wanted | {' | '.join(stage.value for stage in STAGES)} |",
        f"|---|---|{'---|' * len(STAGES)}",
        *(
            table_row((text(row.variable), text(row.wanted), *(_nccl_cell(cell) for cell in row.cells)))
            for row in five_states(truth).rows
        ),
    ]


def _nccl_cell(cell: StageCell) -> str:
    signs = "".join(sign.sign for sign in cell.signs)
    value = f" {text(cell.value, 60)}" if cell.value is not None else ""
    words = "".join(f" {text(words, 300)}" for words in cell.words)
    return f"{signs}{words or value}"


def beyond_the_plan(file: VerdictFile) -> list[str]:
    if file.sampling is None:
        return []
    return [
        "",
        "## Measured beyond the plan",
        "",
        f"| {' | '.join(sampling.COLUMNS)} |",
        "|---|---|---|--:|--:|",
        *(table_row(text(cell, 400) for cell in cells) for cells in sampling.rows_of(file.sampling)),
        "",
        *(f"- {text(line, 600)}" for line in sampling.lines_of(file.sampling)),
        "",
        text(sampling.NOTE, 600),
    ]


def machine_meanwhile(file: VerdictFile) -> list[str]:
    if not file.telemetry:
        return []
    lines = ["", "## While it was measured", ""]
    lines += [f"- {text(watched.launch)}: {text(line_of(watched), 600)}" for watched in file.telemetry]
    return lines
