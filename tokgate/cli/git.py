"""What git says of a checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path

LIMIT_S = 30.0


def git(root: Path, *words: str) -> bytes | None:
    """Return what git prints; None where it fails or is not there."""
    try:
        return subprocess.run(
            ["git", "-C", str(root), *words], capture_output=True, timeout=LIMIT_S, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
