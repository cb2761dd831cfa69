"""Measuring while the machine is watched."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from tokgate.records import ServerRun

from .launch_notes import LaunchNotes
from .measure import Measurement
from .node_telemetry import watch_nodes
from .nodes import Node


@contextlib.contextmanager
def watched(
    measurement: Measurement,
    server: ServerRun,
    *,
    nodes: Sequence[Node],
    notes: LaunchNotes,
    client_ceiling: float | None = None,
) -> Iterator[None]:
    """Watch every host of the server while the block measures, and note what was seen however the block ends.

    That is: telemetry, the faults of the measuring, and the client's own load beside its ceiling (events/s).
    """
    launch = server.launch.id
    ended = watch_nodes(nodes, server, lambda name, lines: notes.folder.append_telemetry(launch, lines, name))
    try:
        yield
    finally:
        notes.note(
            telemetry=ended(),
            faults=(*notes.evidence.faults, *measurement.faults),
            client={
                name: load.model_copy(update={"ceiling_events_per_s": client_ceiling})
                for name, load in measurement.client.items()
            },
        )
