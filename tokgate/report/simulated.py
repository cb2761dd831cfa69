"""The label of whatever comes from a simulated machine: the same word and sentence on every surface."""

from __future__ import annotations

from .visible import one_line

WORD = "SIMULATED"
MEANING = "no number here says anything about a real machine"


def banner(rig: str) -> str:
    """Return the line that stands before everything else about a simulated rig; 80 columns for short names."""
    return f"{WORD}  rig {one_line(rig, 40)}: {MEANING}"
