"""A stored run of one host or of several: whose it is, before anybody judges it."""

from __future__ import annotations

from pathlib import Path

from tokgate.errors import UsageError
from tokgate.records import RunEvidence
from tokgate.records.fleet import HOSTS, ShiftState
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


def parts_of(folder: Path) -> tuple[Path, ...]:
    """Return the run folders that hold evidence: the run's own, or of a run on several hosts what each of them measured."""
    if not is_fleet(folder):
        return (folder,)
    shifts = load_fleet(folder).shifts
    return tuple(folder / shift.folder for shift in shifts if shift.state is ShiftState.MEASURED)


def session_of(folder: Path, run: RunEvidence) -> str:
    """Return what tells a session from others where several are counted: the hosts of one run measured each their own."""
    whole = folder.resolve().parent.parent
    if folder.resolve().parent.name == HOSTS and is_fleet(whole):
        return f"{run.info.run_id}/{HOSTS}/{folder.resolve().name}"
    return run.info.run_id


def refuse_part(folder: Path) -> None:
    """UsageError: the folder is the part that one host had in a run of several; the run is judged, not its part."""
    run = folder.parent.parent
    if folder.parent.name == HOSTS and is_fleet(run):
        raise UsageError(
            tried=f"judging {folder} again",
            found=f"it is what one host measured for {run.name}: other arms lie in {folder.parent}",
            do=f"judge the run: tokgate report {run}",
        )
