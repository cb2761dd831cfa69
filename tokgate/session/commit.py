"""Which tokgate it is that measures: what a run and a self-test are stored with."""

from __future__ import annotations

import subprocess
from pathlib import Path


def commit_of(root: Path) -> str | None:
    """Return the checkout's commit, with "+dirty" when it has changes; None outside git."""
    try:
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, timeout=10, check=True
        )
        changes = subprocess.run(
            ["git", "status", "--porcelain"], cwd=root, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return head.stdout.strip() + ("+dirty" if changes.stdout.strip() else "")
