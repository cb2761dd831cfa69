"""Files that are there whole or not at all, and errors that say of which file they are."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put `path` into an OSError that names no file: of a full disk only opening says which it was."""
    try:
        yield
    except OSError as error:
        if error.filename is None:
            error.filename = str(path)
        raise


def replace_file(target: Path, content: bytes) -> None:
    """Write `target` in one step, its folder made as needed: a reader sees the old or the new one. OSError names it.

    Whatever comes in between, Ctrl-C too, nothing is left beside it.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    # Named before it is made: of tempfile.mkstemp a signal can come between the file and its name.
    temporary = target.parent / f".new-{secrets.token_hex(8)}"
    try:
        with naming(target), temporary.open("xb") as file:
            file.write(content)
        # A report is to be read by whoever may read the folder, whatever the umask.
        temporary.chmod(0o644)
        temporary.replace(target)
    except OSError as error:
        if error.filename == str(temporary):
            error.filename, error.filename2 = str(target), None
        raise
    finally:
        temporary.unlink(missing_ok=True)
