"""The probe's switch: a file of one byte on the host, written into while the server runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from tokgate.errors import BenchFault
from tokgate.hosts.connection import Host
from tokgate.hosts.scripts import source
from tokgate.hosts.scripts.turn_switch import main as turn_here

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
            return turn_here([self.path, byte])
        try:
            why = self.host.run_python(
                source("turn_switch"), [self.path, byte], name="turning of the probe's switch"
            )
        except BenchFault as fault:
            return fault.found
        return None if why is None else str(why)
