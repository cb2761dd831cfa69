"""The sections of summary.md on the verdicts: likely causes, the table of all, why those that are open are, and what differs."""

from __future__ import annotations

from collections.abc import Iterable

from tokgate.records import Outcome

from . import diagnosed, figures
from .markdown import bullets, headed, table_row, text
from .verdict_file import VerdictFile
from .verdict_rows import RowGroup, VerdictRow, row_groups

_KEPT = (Outcome.PASS, Outcome.IMPROVED)


def verdict_table(file: VerdictFile) -> list[str]:
    groups = row_groups(file)
    if not groups:
        return []
    return [
        "",
        "## Verdicts",
        "",
        "| outcome | check | launch | workload | metric | value | reference | change | interval | n |",
        "|---|---|---|---|---|--:|--:|--:|--:|--:|",
        *(table_row(_folded(g) if g.group.several else _verdict_cells(g.rows[0])) for g in groups),
    ]


def _folded(group: RowGroup) -> Iterable[str]:
    """Many kept promises of one check: how many of how many, and the largest change; each stands in report.html."""
    yield group.group.word
    yield f"{text(group.group.check)} {group.group.share()}"
    yield from (figures.NONE,) * 5
    yield text(group.group.span()) or figures.NONE
    yield from (figures.NONE,) * 2


def _verdict_cells(row: VerdictRow) -> Iterable[str]:
    yield row.outcome if row.kept else f"**{row.outcome}**"
    for foreign in (
        row.check,
        row.launch,
        row.workload,
        row.metric,
        row.value,
        row.reference,
        row.change,
        row.interval,
    ):
        yield text(foreign)
    yield row.n


def likely_causes(file: VerdictFile) -> list[str]:
    causes = file.diagnosis.causes
    if diagnosed.failed(file.diagnosis):
        return ["", f"No cause is named: {text(file.diagnosis.note or '', 600)}.", ""]
    if not causes:
        return []
    lines = [
        *headed("Likely causes", diagnosed.COLUMNS, diagnosed.numeric),
        *(table_row(text(cell, 300) for cell in diagnosed.cells(cause)) for cause in causes),
    ]
    for cause in causes[: diagnosed.MOST]:
        lines += ["", f"**{text(cause.name)}**", *bullets(diagnosed.details(cause))]
    lines += bullets(f"no further cause: {line}" for line in diagnosed.accounted(file.diagnosis))
    lines += bullets(f"looked at and excluded: {line}" for line in diagnosed.excluded(file.diagnosis))
    return [*lines, "", text(diagnosed.NOTE, 600), ""]


def reasons(file: VerdictFile) -> list[str]:
    open_ones = [v for v in file.verdicts if v.outcome not in _KEPT]
    if not open_ones:
        return []
    lines = ["", "## Why, and what to do", ""]
    for verdict in open_ones:
        lines.append(f"- **{verdict.outcome.value}** {text(verdict.check)}: {text(verdict.headline, 600)}")
        lines += [f"  - {text(line, 300)}" for line in verdict.evidence[:5]]
        lines += [f"  - warning: {text(line, 300)}" for line in verdict.warnings[:5]]
        if verdict.do:
            lines.append(f"  - next: {text(verdict.do, 600)}")
    return lines


def differences(file: VerdictFile) -> list[str]:
    if not file.differences:
        return []
    lines = ["", "## What differs from the reference", "", "| key | before | now |", "|---|---|---|"]
    seen = dict.fromkeys((d.difference.key, d.difference.before, d.difference.now) for d in file.differences)
    lines += [
        table_row((text(key), text(before or figures.UNKNOWN), text(now or figures.UNKNOWN)))
        for key, before, now in seen
    ]
    return lines


def unclassified_tests(file: VerdictFile) -> list[str]:
    if not file.unclassified:
        return []
    return ["", "## Failed without a verdict", "", *(f"- {text(test, 300)}" for test in file.unclassified)]
