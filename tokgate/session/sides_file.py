"""sides.json of a run folder: written for one run, and believed of that one alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

from tokgate.errors import UsageError
from tokgate.records import LaunchEvidence
from tokgate.records.side import HEAD, SidesMade
from tokgate.rig.models import Rig

SIDES = "sides.json"
_DO = "the folder was edited or put together from two runs: judge the run folder as it was written, or measure again"


def bound(made: SidesMade, run_id: str, rig: Rig) -> SidesMade:
    """Return what was made, with the run and the rig that it was made for."""
    return made.model_copy(update={"run_id": run_id, "asked": asked_for(rig)})


def asked_for(rig: Rig) -> str:
    """Return the sha256 of what in a rig says what its sides are.

    Of patches that which was read: a stored text may lack a secret.
    """
    sides = None
    if rig.sides is not None:
        sides = {
            **rig.sides.model_dump(mode="json", exclude={"patches", "search", "repository"}),
            "patches": [patch.sha256 for patch in rig.sides.patches],
        }
    told = {"rig": rig.name, "sides": sides, "required": [patch.sha256 for patch in rig.server.required]}
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


def check_bound(made: SidesMade | None, where: Path, run_id: str, rig: Rig) -> None:
    """UsageError: what lies there is another run's, or of another question."""
    if made is None:
        return
    if made.run_id is not None and made.run_id != run_id:
        raise UsageError(
            tried=f"reading {where}", found=f"it is of run {made.run_id}, and run.json of {run_id}", do=_DO
        )
    if made.asked is not None and made.asked != asked_for(rig):
        raise UsageError(
            tried=f"reading {where}",
            found="its sides were made for another change, or other required patches, than rig.json names",
            do=_DO,
        )


def against_their_sides(
    launches: Iterable[LaunchEvidence], made: SidesMade | None
) -> tuple[LaunchEvidence, ...]:
    """Return the launches, each that says of its side what sides.json does not with a fault: one of them is not of this run."""
    return tuple(_checked(one, made) for one in launches)


def _checked(launch: LaunchEvidence, made: SidesMade | None) -> LaunchEvidence:
    proof = launch.ran_from
    if proof is None:
        return launch
    state = made.side(proof.side) if made is not None else None
    wanted = launch.launch.side or HEAD
    if proof.side != wanted:
        why = f"it was started from side {wanted}, and its record is of side {proof.side}"
    elif state is None:
        why = f"sides.json has no side {proof.side}"
    elif state.root != proof.root:
        why = f"it ran from {proof.root}, and sides.json has side {proof.side} in {state.root}"
    elif proof.proven and proof.tree is not None and proof.tree != state.tree:
        why = f"it ran tree {proof.tree[:12]}, and sides.json has {state.tree[:12]} for side {proof.side}"
    else:
        return launch
    fault = f"what launch.json tells of its side is not what sides.json does: {why}; {_DO}"
    return launch.model_copy(update={"faults": (*launch.faults, fault)})
