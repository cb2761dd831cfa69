"""What a stopped server's log says of its decode steps: whether they ran in a graph.

A bounded record, kept in launch.json: a log may be too large to be kept, and whoever judges again sees the same.
"""

from __future__ import annotations

from pathlib import Path

from tokgate.parsers.batch_lines import read_batch_lines
from tokgate.parsers.decode_summary import summarise_decode
from tokgate.records.server import GraphSteps

LINES = 20_000  # decode lines that are read; one stands for 40 steps unless the rig says otherwise
LINE_CHARACTERS = 4096  # what is longer is no decode line
_NAMES_IT = "Decode batch"


def graph_steps(log: Path) -> GraphSteps | None:
    """Count the decode lines of a log by their graph field; None where there is no such line or no such log."""
    lines: list[str] = []
    try:
        with log.open(encoding="utf-8", errors="backslashreplace") as file:
            while len(lines) < LINES and (line := file.readline(LINE_CHARACTERS)):
                if _NAMES_IT in line:
                    lines.append(line)
    except OSError:
        return None
    readings = read_batch_lines("".join(lines)).decode
    if not readings:
        return None
    graph = summarise_decode(readings).graph
    return GraphSteps(
        on=graph.on,
        off=graph.off,
        unknown=graph.unknown,
        word=graph.words[0] if len(graph.words) == 1 else None,
    )
