"""A patch file: read where the gate runs, its text kept with the rig, so that neither the host nor a stored run needs the file."""

from __future__ import annotations

import re
from pathlib import Path

from tokgate.errors import UsageError

from .sides import PatchText

# A patch of SGLang's whole history of a year has less; a log or weights named by mistake have more.
MOST_BYTES = 16 << 20
_DIFF = re.compile(r"^(?:diff --git |--- |Index: )", re.MULTILINE)


def read_patch(path: Path) -> PatchText:
    """Return a patch file's name and text. UsageError: it cannot be read, or is no patch."""
    tried = f"read the patch {path}"
    try:
        if not path.is_file():
            raise UsageError(
                tried=tried,
                found="no such file" if not path.exists() else "it is no regular file",
                do="name a file that `git diff` or `git format-patch` wrote",
            )
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(
            tried=tried, found=(error.strerror or str(error)).lower(), do="make it a file that can be read"
        ) from error
    if len(content) > MOST_BYTES:
        raise UsageError(
            tried=tried,
            found=f"more than {MOST_BYTES >> 20} MiB",
            do="a patch of sources is smaller: name the commits instead, by --base and --head",
        )
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            tried=tried,
            found=f"bytes that are not UTF-8 at offset {error.start}",
            do="write it by `git diff --binary`, or name the commits by --base and --head",
        ) from error
    if not _DIFF.search(text):
        raise UsageError(
            tried=tried,
            found="an empty file" if not text.strip() else "no diff in it",
            do="name a file that `git diff` or `git format-patch` wrote",
        )
    return PatchText(name=path.name, text=text)
