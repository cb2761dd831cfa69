"""Measuring while the machine is watched."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tokgate.hosts.connection import Host
from tokgate.hosts.telemetry import watch
from tokgate.records import ServerRun
from tokgate.rig.models import Rig

from .launch_notes import LaunchNotes
from .measure import Measurement


@contextlib.contextmanager
def watched(
    measurement: Measurement,
    server: ServerRun,
    *,
    host: Host,
    rig: Rig,
    notes: LaunchNotes,
    client_ceiling: float | None = None,
) -> Iterator[None]:
    """Watch the machine while the block measures, and note what was seen however the block ends.

    That is: telemetry, the faults of the measuring, and the client's own load beside its ceiling (events/s).
    """
    launch = server.launch.id
    watching = watch(host, rig, server, write=lambda lines: notes.folder.append_telemetry(launch, lines))
    try:
        yield
    finally:
        notes.note(
            telemetry=watching.end(),
            faults=(*notes.evidence.faults, *measurement.faults),
            client={
                name: load.model_copy(update={"ceiling_events_per_s": client_ceiling})
                for name, load in measurement.client.items()
            },
        )
