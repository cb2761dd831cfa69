"""One byte that the gate may flip while the server runs: the probe's own cost is measured by on and off."""

from __future__ import annotations

import contextlib
import os
import stat

_OFF = b"0"


class Switch:
    """On unless the file says "0". The gate has to write into the file, not replace it.

    Read, not mapped: to look at a mapped file that somebody is just truncating ends the process with SIGBUS.
    """

    def __init__(self, path: str | None) -> None:
        self._file: int | None = None
        if path:
            with contextlib.suppress(OSError):  # the header says that there is none
                self._file = _opened(path)

    @property
    def there(self) -> bool:
        return self._file is not None

    def on(self) -> bool:
        if self._file is None:
            return True
        try:
            return os.pread(self._file, 1, 0) != _OFF
        except OSError:
            return True


def _opened(path: str) -> int | None:
    """Open a plain file. Anything else might keep whoever looks at it waiting: a pipe nobody writes to, a device."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(file).st_mode):
        return file
    os.close(file)
    return None
