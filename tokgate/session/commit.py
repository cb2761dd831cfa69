"""Which tokgate it is that measures: what a run and a self-test are stored with."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

# In a copy that is no checkout, as a bundle for an offline host lays out: the commit that it was made from.
FILE = ".tokgate-commit"
# A checkout's own config may name programs: none of them is needed for a question.
PLAIN = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false")
# Of `git rev-parse --local-env-vars`, those that say where a repository lies.
_ELSEWHERE = frozenset(
    (
        "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX",
    )
)  # fmt: skip


def commit_of(root: Path) -> str | None:
    """Return the checkout's commit, with "+dirty" when it has changes; None outside git and copies of a checkout."""
    try:
        return (root / FILE).read_text(encoding="utf-8").strip() or None
    except OSError:
        pass
    try:
        head, changes = (_git(root, *words) for words in (("rev-parse", "HEAD"), ("status", "--porcelain")))
    except (OSError, subprocess.SubprocessError):
        return None
    return head + ("+dirty" if changes else "")


def git_here() -> dict[str, str]:
    """Return the environment of a git that is asked of the folder it stands in.

    Started by a hook or `git bisect run`, GIT_DIR would have it answer for another repository.
    """
    return {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}


def _git(root: Path, *words: str) -> str:
    argv = ["git", *PLAIN, *words]
    ran = subprocess.run(
        argv, cwd=root, capture_output=True, text=True, timeout=10, check=True, env=git_here()
    )
    return ran.stdout.strip()
