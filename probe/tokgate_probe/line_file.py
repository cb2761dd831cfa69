"""A file of lines that never grows beyond a limit, and that can be tried again after a failed write."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

LIMIT_BYTES = 64 * 1024 * 1024
KEPT_BYTES = 1024  # for the lines that say what was left out
_NAMES = 100  # files of one process id in one folder: from several hosts, or of processes long gone


class LineFile:
    """Opened at the first write, newly made: what lies there already is somebody else's."""

    def __init__(self, folder: Path, pid: int, *, limit_bytes: int = LIMIT_BYTES) -> None:
        self._folder = folder
        self._pid = pid
        self._left = limit_bytes
        self._file: int | None = None
        self._torn = False
        self.full = False

    def write(self, text: str, *, last: bool = False) -> None:
        """Write whole lines. Raises OSError when they are not, or not whole, in the file.

        `last`: of the few that may use the room kept for them. Files from a failed write go on with a new line.
        """
        data = (b"\n" if self._torn else b"") + text.encode("utf-8", "replace")
        if len(data) > self._left - (0 if last else KEPT_BYTES):
            self.full = True
            raise OSError("file at its limit")
        if self._file is None:
            self._file = self._make()
        while data:
            done = os.write(self._file, data)
            self._torn = not data[:done].endswith(b"\n")
            self._left -= done
            data = data[done:]

    def _make(self) -> int:
        for path in self._paths():
            try:
                return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o644)
            except FileExistsError:
                continue
        raise OSError(f"{_NAMES} files of process {self._pid} lie there already")

    def _paths(self) -> Iterator[Path]:
        yield self._folder / f"phases-{self._pid}.jsonl"
        for number in range(2, _NAMES + 1):
            yield self._folder / f"phases-{self._pid}-{number}.jsonl"
