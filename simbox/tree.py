"""Local patches in the SGLang tree that the server would import.

The model counts what is really there: a line `# simbox-patch: 0.904` in one of the files below costs that many
milliseconds in every forward pass. trees/clean and trees/patched are two such trees, small enough to read, for
PYTHONPATH; the patched one no longer matches its own RECORD, which is how such a tree is found out.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

_FILES = ("srt/managers/scheduler.py", "srt/speculative/eagle_worker_v2.py")
_PATCH = re.compile(r"^\s*# simbox-patch: (\d+(?:\.\d+)?)", re.MULTILINE)


def patch_ms() -> float:
    """Return what the patches in the importable sglang cost a forward pass; 0.0 without any."""
    try:
        found = importlib.util.find_spec("sglang")
    except (ImportError, ValueError):
        return 0.0
    if found is None or not found.origin:
        return 0.0
    total = 0.0
    for name in _FILES:
        file = Path(found.origin).parent / name
        if file.is_file():
            total += sum(map(float, _PATCH.findall(file.read_text(encoding="utf-8", errors="replace"))))
    return total
