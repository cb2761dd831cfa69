"""What a session ran from: the version of tokgate, its commit, and that of the repository that uses it."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.records import RunInfo

_LENGTH = 12  # of a commit's hash, as git itself abbreviates those of large repositories
_DIRTY = "+dirty"


def made_from(info: RunInfo) -> Iterator[str]:
    """Yield "tokgate 0.1.0 at 0123456789ab" and, of another repository, "repository at ba9876543210+dirty"; nothing is escaped yet."""
    own = f" at {_short(info.tokgate_commit)}" if info.tokgate_commit else ""
    yield f"tokgate {info.tokgate_version}{own}"
    if info.repository_commit:
        yield f"repository at {_short(info.repository_commit)}"


def _short(commit: str) -> str:
    return commit.removesuffix(_DIRTY)[:_LENGTH] + (_DIRTY if commit.endswith(_DIRTY) else "")
