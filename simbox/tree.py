"""Local patches in the SGLang tree that the server would import.

The model counts what is really there: a line `# simbox-patch: 0.904` in one of the files below costs that many
milliseconds in every forward pass. trees/clean is such a tree, small enough to read, and trees/patched what differs in
another: the box installs one of them (knob `tree`). The patched one no longer matches its own RECORD, which is how it is found out.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from simbox.environment import CLEAN, TREES

_FILES = ("srt/managers/scheduler.py", "srt/speculative/eagle_worker_v2.py")
_PATCH = re.compile(r"^\s*# simbox-patch: (\d+(?:\.\d+)?)", re.MULTILINE)


def patch_ms(installed: str) -> float:
    """Return what patches cost a forward pass: those in the importable sglang, without one those in TREES/installed."""
    try:
        found = importlib.util.find_spec("sglang")
    except (ImportError, ValueError):
        found = None
    here = found.origin if found is not None else None
    folders = [Path(here).parent] if here else [TREES / name / "sglang" for name in (installed, CLEAN)]
    total = 0.0
    for name in _FILES:
        file = next((path for folder in folders if (path := folder / name).is_file()), None)
        if file is not None:
            total += sum(map(float, _PATCH.findall(file.read_text(encoding="utf-8", errors="replace"))))
    return total
