"""What git says of a checkout."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tokgate.session.commit import PLAIN, git_here

LIMIT_S = 30.0


def git(root: Path, *words: str) -> bytes | None:
    """Return what git prints; None where it fails or is not there."""
    argv = ["git", *PLAIN, "-C", str(root), *words]
    try:
        return subprocess.run(argv, capture_output=True, timeout=LIMIT_S, check=True, env=git_here()).stdout
    except (OSError, subprocess.SubprocessError):
        return None
