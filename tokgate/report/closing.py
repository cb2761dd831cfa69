"""What a terminal says beside the verdicts: the likely causes, why speculation wins or loses, what a change is made of, what measuring costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tokgate.records import Outcome

from . import arithmetic_cells, culprits, diagnosed, qualified, split_cells
from .fleet_table import lines as fleet_lines
from .leading import BASELINE, of_the_change
from .phases import costs_of
from .sampling import lines_of
from .verdict_file import VerdictFile
from .visible import wrapped

MOST = 4  # of each kind; the rest stands in report.html
_LINES = 3


def lines(file: VerdictFile, width: int) -> Iterator[str]:
    """Yield lines of at most `width` columns."""
    lost = any(v.outcome is Outcome.REGRESSED for v in file.verdicts)
    of_change = of_the_change(file.verdicts)
    if file.fleet is not None:
        for text in fleet_lines(file.fleet):
            yield from wrapped(text, width, first="", indent="  ", most=_LINES)
    if file.culprit is not None:
        for text in culprits.terminal_lines(file.culprit):
            yield from wrapped(text, width, first="", indent="  ", most=_LINES)
    for text, most in diagnosed.lines(file.diagnosis, lost=lost, of_change=of_change):
        yield from wrapped(text, width, first="", indent="  ", most=most)
    probed = () if of_change else costs_of(file.phases)  # beside a change it carries both sides, or neither
    told = (*_arithmetic(file), *_gains(file), *_since_baseline(file), *_some(probed))
    decided = file.sampling is not None and file.sampling.decisions
    sampled = lines_of(file.sampling, brief=of_change) if file.sampling is not None and decided else ()
    # What a self-test would say of the gate is no news of a loss that is called against its own base.
    seen = () if of_change and lost else qualified.lines(file.qualification)
    for text in (*told, *sampled, *seen):
        yield from wrapped(text, width, first="", indent="  ", most=_LINES)


def _arithmetic(file: VerdictFile) -> list[str]:
    levels = {
        (g.arm, g.workloads.get(level.concurrency)): level for g in file.gains for level in g.gain.levels
    }
    told = [arithmetic_cells.sentence(row, levels.get((row.arm, row.workload))) for row in file.arithmetic]
    return _some([text for text in told if text is not None])


def _gains(file: VerdictFile) -> list[str]:
    """A single level says what its own verdict says."""
    return _some([f"{g.arm} by concurrency: {g.gain.words}" for g in file.gains if len(g.gain.levels) > 1])


def _since_baseline(file: VerdictFile) -> list[str]:
    """Where a stored number has moved, or may have: what holds needs no explanation."""
    moved = {
        (v.arm, v.workload) for v in file.verdicts if v.check == BASELINE and v.outcome is not Outcome.PASS
    }
    return _some(
        [
            f"{one.arm} {one.workload} since the baseline: {split_cells.sentence(one.change)}"
            for one in file.since_baseline
            if one.change is not None and (one.arm, one.workload) in moved
        ]
    )


def _some(told: Sequence[str]) -> list[str]:
    left = len(told) - MOST
    return list(told) if left <= 0 else [*told[:MOST], f"… and {left} more: see report.html"]
