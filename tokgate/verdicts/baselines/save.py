"""Baselines are written whole or not at all, and those of one decision together."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tokgate.errors import BaselineError

from .file import BaselineFile
from .load import baseline_path


def save(root: Path, baseline: BaselineFile) -> Path:
    """Write one baseline where it belongs below `root`; return its path. BaselineError when that fails."""
    return save_all(root, (baseline,))[0]


def save_all(root: Path, baselines: Sequence[BaselineFile]) -> tuple[Path, ...]:
    """Write baselines where they belong below `root`; return their paths in the same order.

    The text of all of them lies on the disk before the first takes its place, so that a disk that is full, or whoever
    ends the program while it writes, leaves every old file as it was. A link is written through: what it points to is
    the baseline. BaselineError when one cannot be written. Whoever writes what he has read before holds lock.writing.
    """
    paths = [baseline_path(root, baseline.rig, baseline.identity) for baseline in baselines]
    targets: list[Path] = []
    temporary: list[Path] = []
    path = root / "baselines"
    try:
        for path, baseline in zip(paths, baselines, strict=True):
            path.parent.mkdir(parents=True, exist_ok=True)
            targets.append(path.resolve(strict=True) if path.is_symlink() else path)
            temporary.append(_empty_beside(targets[-1]))
            _write(temporary[-1], baseline)
        for path, target, written in zip(paths, targets, temporary, strict=True):  # noqa: B007 - the error names it
            written.replace(target)
    except OSError as error:
        raise BaselineError(
            tried=f"write the baseline {path}",
            found=error.strerror or str(error),
            do="make the folder writable, or use another checkout: tokgate --root PATH …",
        ) from error
    finally:
        for written in temporary:
            written.unlink(missing_ok=True)
    return tuple(paths)


def written(baseline: BaselineFile) -> str:
    """Return the text of a file: sorted keys and one number a line, so that a review shows what changed."""
    return json.dumps(baseline.model_dump(mode="json"), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _empty_beside(path: Path) -> Path:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    os.close(handle)
    return Path(name)


def _write(path: Path, baseline: BaselineFile) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write(written(baseline))
        file.flush()
        os.fsync(file.fileno())
    path.chmod(0o644)  # mkstemp makes 0600; baselines are for everyone
