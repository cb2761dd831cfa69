"""A stored run of one host or of several: whose it is, before anybody judges it."""

from __future__ import annotations

from pathlib import Path

from tokgate.errors import UsageError
from tokgate.records import RunEvidence
from tokgate.records.fleet import HOSTS
from tokgate.rig.models import Rig

from .fleet_board import is_fleet, load_fleet
from .loaded import load_once
from .run_folder import read_info, read_rig


def load_head(folder: Path) -> tuple[RunEvidence, Rig]:
    """Read a run folder; of several hosts only what they share, as the evidence of each lies in a folder of its own.

    UsageError: it is none, or makes no sense.
    """
    if not is_fleet(folder):
        return load_once(folder)
    load_fleet(folder)
    return RunEvidence(info=read_info(folder)), read_rig(folder)


def refuse_part(folder: Path) -> None:
    """UsageError: the folder is the part that one host had in a run of several; the run is judged, not its part."""
    run = folder.parent.parent
    if folder.parent.name == HOSTS and is_fleet(run):
        raise UsageError(
            tried=f"judging {folder} again",
            found=f"it is what one host measured for {run.name}: other arms lie in {folder.parent}",
            do=f"judge the run: tokgate report {run}",
        )
