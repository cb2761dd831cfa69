"""The sections of summary.md on what speculation makes: arms, arithmetic, phases, concurrency, since the baseline, sweep."""

from __future__ import annotations

from collections.abc import Iterable

from . import (
    arithmetic_cells,
    figures,
    gain,
    phases,
    split_cells,
    sweep,
)
from .arms import ArmRow
from .markdown import bullets, headed, table_row, text
from .since_baseline import changes
from .verdict_file import VerdictFile


def arm_table(file: VerdictFile) -> list[str]:
    if not file.arms:
        return []
    return [
        "## Arms",
        "",
        "| launch | workload | tok/s a stream | total tok/s | cycle ms | break-even cycle ms | accept length | speed-up | n |",
        "|---|---|--:|--:|--:|--:|--:|--:|--:|",
        *(table_row(_arm_cells(arm)) for arm in file.arms),
    ]


def _arm_cells(arm: ArmRow) -> Iterable[str]:
    yield text(arm.launch)
    yield text(arm.workload)
    yield figures.optional(arm.decode_tok_s, "decode_tok_s")
    yield figures.optional(arm.total_tok_s, "total_tok_s")
    yield figures.optional(arm.cycle_ms, "cycle_ms")
    yield figures.optional(arm.break_even_cycle_ms, "cycle_ms")
    yield figures.optional(arm.accept_length, "accept_length")
    yield figures.NONE if arm.speed_up is None else f"{arm.speed_up:.3f} {arm.compared}".rstrip()
    yield str(arm.n)


def arithmetic_table(file: VerdictFile) -> list[str]:
    if not file.arithmetic:
        return []
    return [
        *headed("Arithmetic", arithmetic_cells.COLUMNS, arithmetic_cells.numeric),
        *(table_row(text(cell) for cell in arithmetic_cells.cells(row)) for row in file.arithmetic),
        *bullets(f"not told, {where}: {why}" for where, why in arithmetic_cells.untold(file.arithmetic)),
    ]


def gain_table(file: VerdictFile) -> list[str]:
    if not file.gains:
        return []
    levels = gain.tabled(file.gains)
    title = "Gain by concurrency"
    return [
        *(headed(title, gain.COLUMNS, gain.numeric) if levels else ("", f"## {title}")),
        *(table_row(text(cell) for cell in cells) for cells in levels),
        *bullets(line for told, notes in gain.sentences(file.gains) for line in (told, *notes)),
    ]


def since_baseline_table(file: VerdictFile) -> list[str]:
    if not file.since_baseline:
        return []
    found = tuple(changes(file.since_baseline))
    table = (
        *headed("Since the stored baseline", split_cells.COLUMNS, split_cells.numeric),
        *(table_row(text(cell) for cell in split_cells.cells(one)) for one in found),
    )
    untold = (f"{o.arm} {o.workload}: not compared: {o.why}" for o in file.since_baseline if o.change is None)
    notes = (f"{where}: {note}" for where, note in split_cells.noted(found))
    return [*(table if found else ("", "## Since the stored baseline")), *bullets((*untold, *notes))]


def sweep_table(file: VerdictFile) -> list[str]:
    if file.sweep is None:
        return []
    return [
        "",
        f"## Sweep of {text(file.sweep.arm)}",
        "",
        f"| {' | '.join(sweep.COLUMNS)} |",
        f"|---|---|{'--:|' * (len(sweep.COLUMNS) - 2)}",
        *(table_row(text(cell) for cell in cells) for cells, _ in sweep.rows_of(file.sweep)),
        "",
        *(f"- {text(line, 400)}" for line in sweep.lines_of(file.sweep)),
        "",
        text(sweep.NOTE, 600),
    ]


def phase_table(file: VerdictFile) -> list[str]:
    rows, unknown = phases.phase_rows(file.phases), phases.unknown_of(file.phases)
    if not rows and not unknown:
        return []
    lines = ["", "## Phases of a cycle", ""]
    if rows:
        left = "---|" * 4 + "--:|" * (len(phases.COLUMNS) - 4)
        lines += [f"| {' | '.join(phases.COLUMNS)} |", f"|{left}"]
        lines += [table_row(text(cell) for cell in phases.cells(row)) for row in rows]
    notes = [
        f"- **not agreed** {text(launch)}: {text(words, 400)}"
        for launch, words in phases.disputed(file.phases)
    ]
    notes += [
        f"- not told {text(launch)}, {text(source)}: {text(why, 400)}" for launch, source, why in unknown
    ]
    return [*lines, *([""] if rows and notes else []), *notes]
