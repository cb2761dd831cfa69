"""Which tokgate it is that measures: what a run and a self-test are stored with."""

from __future__ import annotations

import subprocess
from pathlib import Path

# In a copy that is no checkout, as a bundle for an offline host lays out: the commit that it was made from.
FILE = ".tokgate-commit"


def commit_of(root: Path) -> str | None:
    """Return the checkout's commit, with "+dirty" when it has changes; None outside git and copies of a checkout."""
    try:
        return (root / FILE).read_text(encoding="utf-8").strip() or None
    except OSError:
        pass
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
