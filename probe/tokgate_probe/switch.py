"""One byte that the gate may flip while the server runs: the probe's own cost is measured by on and off."""

from __future__ import annotations

import mmap
from pathlib import Path

_OFF = ord("0")


class Switch:
    """On unless the file says "0". Mapped once: a look costs no system call, so it may be looked at on every call.

    The gate has to write into the file, not replace it.
    """

    def __init__(self, path: str | None) -> None:
        self._byte: mmap.mmap | None = None
        if path:
            try:
                with Path(path).open("r+b") as file:
                    self._byte = mmap.mmap(file.fileno(), 1)
            except (OSError, ValueError):
                self._byte = None  # no such file, or empty

    @property
    def there(self) -> bool:
        return self._byte is not None

    def on(self) -> bool:
        return self._byte is None or self._byte[0] != _OFF
