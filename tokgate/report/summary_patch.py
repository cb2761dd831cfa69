"""The sections of summary.md on a change to SGLang: both answers, and what the sides were made of."""

from __future__ import annotations

from . import patch_words, split_cells
from .markdown import table_row, text
from .patch_report import PatchReport
from .verdict_file import VerdictFile


def answers(file: VerdictFile) -> list[str]:
    """Return both answers, as lines right below the heading; [] where no change was measured."""
    if file.patch is None:
        return []
    lines = [f"- **{text(one.question)}** {text(one.words, 600)}" for one in patch_words.answers(file.patch)]
    if file.patch.together is not None:
        lines.append(f"- **Together:** {text(file.patch.together, 600)}")
    lines += [f"- {text(words, 400)}" for words in patch_words.unimported(file.patch)]
    return [*lines, ""]


def sides(file: VerdictFile) -> list[str]:
    if file.patch is None:
        return []
    return [
        "",
        "## The change",
        "",
        f"| {' | '.join(patch_words.COLUMNS)} |",
        f"|{'---|' * len(patch_words.COLUMNS)}",
        *(table_row(text(cell, 200) for cell in cells) for cells in patch_words.rows(file.patch)),
        "",
        *(f"- {text(line, 600)}" for line in patch_words.details(file.patch)),
        *_splits(file.patch),
    ]


def _splits(report: PatchReport) -> list[str]:
    return [
        f"- {text(f'{one.arm} {one.workload}, head against base', 120)}: {text(split_cells.sentence(one), 600)}"
        for one in report.splits
    ]
