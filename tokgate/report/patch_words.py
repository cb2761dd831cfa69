"""A change to SGLang in lines and cells, for every surface; nothing here is escaped yet."""

from __future__ import annotations

from collections.abc import Iterator

from . import figures
from .patch_answers import Answered
from .patch_report import PatchReport, SideTold

COLUMNS = ("side", "made from", "commit", "not committed", "its part of the change", "files changed", "tree")
_DIGITS = 12
_MOST_FILES = 8
_UNKNOWN = "not asked"


def answers(report: PatchReport) -> tuple[Answered, Answered]:
    return report.patch, report.anchor


def line(answered: Answered) -> str:
    """Return "Is the server slower with the change than without? no: decode +0.2 % …"."""
    return f"{answered.question} {answered.words}"


def short(report: PatchReport) -> Iterator[str]:
    """Yield what a terminal says: both answers, what they say together, and what cannot have mattered."""
    yield f"slower than its base? {report.patch.words}"
    yield f"below the stored baseline? {report.anchor.words}"
    if report.together is not None:
        yield f"together: {report.together}"
    yield from unimported(report)


def unimported(report: PatchReport) -> Iterator[str]:
    if report.never_imported:
        more = len(report.never_imported) - _MOST_FILES
        listed = ", ".join(report.never_imported[:_MOST_FILES])
        yield (
            f"no server imported {listed}{f' and {more} more' if more > 0 else ''}: that cannot have mattered here"
        )


def spent(report: PatchReport) -> str | None:
    """Return what measuring both sides took of the GPUs; None where that is not known."""
    if report.gpu_seconds is None:
        return None
    told = f"GPU time: {report.gpu_seconds / 60:.1f} GPU-minutes of server runs"
    if report.base_gpu_seconds is not None:
        told += f", {report.base_gpu_seconds / 60:.1f} of them for the base"
    return told


def cells(side: SideTold) -> tuple[str, ...]:
    """Return the cells in the order of COLUMNS."""
    commit = side.commit[:_DIGITS] if side.commit is not None else figures.NONE
    units = "; ".join((*side.units, *(f"{name} (required by the rig)" for name in side.required)))
    return (
        side.name,
        side.made_from + {"copy": " (a copy)", "installed": " (as installed)"}.get(side.kind, ""),
        f"{side.ref} = {commit}" if side.ref is not None and side.ref != side.commit else commit,
        side.dirty[:_DIGITS] if side.dirty is not None else figures.NONE,
        units or figures.NONE,
        str(len(side.changed)) if side.changed else figures.NONE,
        side.tree[:_DIGITS],
    )


def rows(report: PatchReport) -> tuple[tuple[str, ...], ...]:
    return tuple(map(cells, report.sides))


def numeric(column: int) -> bool:
    return column == COLUMNS.index("files changed")


def details(report: PatchReport) -> Iterator[str]:
    """Yield what stands below the table of sides: changed files, what was taken over, notes, GPU time."""
    for side in report.sides:
        if side.changed:
            more = len(side.changed) - _MOST_FILES
            listed = ", ".join(side.changed[:_MOST_FILES])
            yield f"{side.name} differs from the base in {listed}{f' and {more} more' if more > 0 else ''}"
        if side.carried:
            yield f"{side.name}: {len(side.carried)} built files that no commit holds were taken over, e.g. {side.carried[0]}"
        yield from (f"{side.name}: {note}" for note in side.notes)
    yield from report.notes
    yield from unimported(report)
    if (told := spent(report)) is not None:
        yield told
