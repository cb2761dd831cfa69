"""Sessions of other rigs that ran the same server on the same host: what a start takes is known from them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tokgate.rig.models import Rig
from tokgate.verdicts.baselines.spent import SessionSpent

from .history_file import history_path, read
from .plain_files import record_of

_LATEST = 10  # sessions of each rig


class Alike(NamedTuple):
    rigs: tuple[str, ...]
    sessions: tuple[SessionSpent, ...]


NO_ALIKE = Alike((), ())


def alike_sessions(rig: Rig, reports: Path) -> Alike:
    """Return what they spent; what cannot be read, or whose run folder is gone, tells nothing."""
    own = history_path(reports, rig.name)
    names: list[str] = []
    found: list[SessionSpent] = []
    for path in sorted(own.parent.glob("*.jsonl")):
        if path == own:
            continue
        try:
            entries = read(path).entries
        except OSError:
            continue
        spent = [e for e in sorted(entries, key=lambda e: e.started_at) if e.spent is not None][-_LATEST:]
        alike = [e.spent for e in spent if e.spent and _same_server(rig, reports / Path(e.run_id).name)]
        if alike:
            names.append(path.stem)
            found += alike
    return Alike(tuple(names), tuple(found))


def _same_server(rig: Rig, folder: Path) -> bool:
    other = record_of(folder / "rig.json", Rig)
    return other is not None and _server_of(other) == _server_of(rig)


def _server_of(rig: Rig) -> tuple[object, ...]:
    """Return what decides how long a server of this rig takes to start."""
    server, args = rig.server, rig.server.args
    return (
        rig.simulated,
        rig.host.testinfra,
        rig.gpus.count,
        server.module,
        server.model_path,
        args.get("tp_size"),
        args.get("load_format"),
    )
