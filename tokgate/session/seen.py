"""What telemetry saw of one launch: node 0's rows in telemetry.jsonl, a further node's in a file of its own, judged as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tokgate.records import Generation
from tokgate.records.telemetry import Curves, Telemetry, TelemetryRow, Window
from tokgate.stats.curves import curves_of
from tokgate.stats.joined_windows import join_curves, join_windows
from tokgate.stats.windows import windows_of

Load = Callable[[Path], Sequence[TelemetryRow]]


def telemetry_file(node: int) -> str:
    """Return the name of a node's rows in the folder of a launch."""
    return "telemetry.jsonl" if node == 0 else f"telemetry-node{node}.jsonl"


def seen(
    folder: Path, generations: Sequence[Generation], telemetry: Telemetry | None, load: Load
) -> tuple[tuple[Window, ...], Curves]:
    """Return windows and curves of a launch, those of further nodes joined in. What `load` raises is raised."""
    further = telemetry.nodes if telemetry is not None else ()
    gpus = (telemetry.gpus if telemetry is not None else 0) - sum(told.gpus for told in further)
    rows = load(folder / telemetry_file(0))
    windows, curves = windows_of(generations, rows, gpus=gpus), curves_of(rows)
    offset = gpus
    for number, told in enumerate(further, start=1):
        rows = load(folder / telemetry_file(number))
        there = windows_of(generations, rows, gpus=told.gpus)
        windows = join_windows(windows, there, node=number, offset=offset)
        curves = join_curves(curves, curves_of(rows), offset=offset)
        offset += told.gpus
    return windows, curves
