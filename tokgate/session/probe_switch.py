"""The probe's switch: a file of one byte on the host, written into while the server runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tokgate.errors import BenchFault
from tokgate.hosts.connection import Host

ON, OFF = "1", "0"


@dataclass
class ProbeSwitch:
    """Off and on again. The probe has the file open, so it is written into, never replaced or cut."""

    host: Host
    path: str
    why: str | None = field(
        default=None, init=False
    )  # why it could not be turned; it is not tried again then

    def lay(self) -> None:
        """Make the file, switched on. BenchFault: it cannot be made."""
        self.host.write_file(self.path, ON)

    def turn(self, on: bool) -> bool:
        """Return whether the switch is now as asked."""
        if self.why is None:
            self.why = self._write(ON if on else OFF)
        return self.why is None

    def _write(self, byte: str) -> str | None:
        if self.host.local:
            return _write_here(Path(self.path), byte)
        try:
            # `1<>` opens for writing without cutting: a reader sees one byte or the other, never none.
            done = self.host.run("printf %s 1<> %s", byte, self.path)
        except BenchFault as fault:
            return fault.found
        return None if done.rc == 0 else f"{self.path}: {done.stderr.strip() or 'no end'}"


def _write_here(path: Path, byte: str) -> str | None:
    try:
        with path.open("r+b", buffering=0) as file:
            file.write(byte.encode())
    except OSError as error:
        return f"{path}: {error.strerror or error}"
    return None
