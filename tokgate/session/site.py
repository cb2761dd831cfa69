"""What every server run has in common with the others of its session or self-test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tokgate.hosts.connection import Host
from tokgate.hosts.lease import Lease
from tokgate.records.redactor import Redactor
from tokgate.rig.models import Rig

from .progress import Progress, unheard
from .run_folder import RunFolder


@dataclass(frozen=True, kw_only=True)
class Site:
    rig: Rig
    host: Host
    lease: Lease
    folder: RunFolder
    redactor: Redactor
    run_id: str
    root: Path  # the checkout
    say: Callable[[str], None]
    progress: Progress = unheard
