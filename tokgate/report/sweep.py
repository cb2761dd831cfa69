"""The sweep of a run as a table: a row per workload and setting, and below it which one is the best."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import Outcome, RunEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.sweep_best import SweepTable, sweep_table
from tokgate.verdicts.sweep_settings import SweepRow

from . import figures
from .visible import one_line

ROLES = ("sweep", "sweep-control")
COLUMNS = (
    "workload", "setting", "tok/s", "speed-up", "95 % interval", "accept length", "cycle ms",
    "break-even cycle ms", "headroom ms", "n",
)  # fmt: skip
NOTE = (
    "One server run a setting, medians; tok/s of one stream, or of all together where a workload has several. "
    "The speed-up is over the sweep's own two control launches and must hold against each. Which setting is the "
    "best is decided among all at once: the comparisons of one workload hold together at 95 %."
)


def table_of(evidence: RunEvidence, rig: Rig) -> SweepTable | None:
    return sweep_table(rig, evidence.launches)


def rows_of(table: SweepTable) -> tuple[tuple[tuple[str, ...], str | None], ...]:
    """Return the cells in the order of COLUMNS, and why a row has no numbers."""
    place = {
        (b.workload, w): "best" if b.told_apart else "among the best" for b in table.best for w in b.as_good
    }
    return tuple((_cells(row, place.get((row.workload, row.words))), row.why) for row in table.rows)


def lines_of(table: SweepTable) -> tuple[str, ...]:
    """Return what stands below the table: the best of each workload, over all, and what was left out."""
    told = [f"{b.workload}: {b.words}" for b in table.best]
    if table.over_all is not None:
        told.append(table.over_all)
    told += [f"no numbers for {row.words} under {row.workload}: {row.why}" for row in table.rows if row.why]
    told += [f"left out {out.setting.words}: {out.why}" for out in table.left_out]
    return tuple(told)


def terminal_lines(table: SweepTable) -> tuple[str, ...]:
    """Return the best of each workload, a line each, and whether one setting serves them all."""
    told = [f"sweep of {table.arm}, {b.workload}: {b.words}" for b in table.best]
    return (*told, *((f"sweep: {table.over_all}",) if table.over_all else ()))


def answers(kept: Sequence[Verdict]) -> tuple[str, ...]:
    """Return what a session that was run for a sweep answers: its headlines."""
    return tuple(one_line(v.headline, 300) for v in kept if v.check == "sweep" and v.outcome is Outcome.PASS)


def _cells(row: SweepRow, place: str | None) -> tuple[str, ...]:
    marks = [word for word in (place, "as written" if row.configured else None) if word]
    span = row.speed_up_interval
    return (
        row.workload,
        f"{row.words} ({', '.join(marks)})" if marks else row.words,
        figures.optional(row.tok_s, row.metric),
        figures.NONE if row.speed_up is None else f"{row.speed_up:.3f}",
        figures.NONE if span is None else f"{span[0]:.3f} … {span[1]:.3f}",
        figures.optional(row.accept_length, "accept_length"),
        figures.optional(row.cycle_ms, "cycle_ms"),
        figures.optional(row.break_even_cycle_ms, "cycle_ms"),
        figures.NONE if row.headroom_ms is None else f"{row.headroom_ms:+.2f}",
        str(row.n),
    )
