"""Finding and reading stored baselines: a damaged one is an error with its own name, never an absence.

Beside save and lock the only module of this room that touches files.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

from pydantic import ValidationError

from tokgate.errors import BaselineError
from tokgate.records import Difference

from .file import HASH_DIGITS, SCHEMA, Absence, BaselineFile
from .identity import Identity, differences, identity_hash

LARGEST_FILE = 64 * 2**20  # a thousand launches fit ten times over; more is not one of ours


def baseline_path(root: Path, rig: str, identity: Identity) -> Path:
    """Return root/baselines/<rig>/<first 12 hex digits>.json; BaselineError on a name that is no rig's."""
    return folder_of(root, rig) / f"{identity_hash(identity)[:HASH_DIGITS]}.json"


def folder_of(root: Path, rig: str) -> Path:
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", rig):
        raise BaselineError(
            tried=f"find the baselines of {rig!r}",
            found="that is no name of a rig",
            do="name a rig as `tokgate rig list` does",
        )
    return root / "baselines" / rig


def find(root: Path, rig: str, identity: Identity) -> BaselineFile | Absence:
    """Return the baseline of an identity, or its named absence with the nearest neighbour.

    Nearest is the one with the fewest differing settings, of the same kind (simulated or real).
    BaselineError when the file exists and is corrupt.
    """
    path = baseline_path(root, rig, identity)
    if _is_there(path):
        return load(path)
    nearest: BaselineFile | None = None
    fewest: tuple[Difference, ...] = ()
    unreadable: list[str] = []
    for neighbour in sorted(folder_of(root, rig).glob("*.json")):
        try:
            other = load(neighbour)
        except BaselineError as error:
            unreadable.append(f"{neighbour.name}: {error.found}")
            continue
        if other.identity.get("simulated") != identity.get("simulated"):
            continue
        found = differences(other.identity, identity)
        if nearest is None or len(found) < len(fewest):
            nearest, fewest = other, found
    return Absence(
        path=str(path.relative_to(root)),
        identity=identity,
        nearest=nearest.name if nearest is not None else None,
        differs=fewest,
        unreadable=tuple(unreadable),
    )


def refuse_mixture(root: Path, rig: str, *, simulated: bool) -> None:
    """Raise BaselineError where the folder of `rig` holds a baseline of the other kind, simulated or real.

    Identity keeps the two from being compared; a folder that holds one kind keeps them from being confused.
    """
    for path in sorted(folder_of(root, rig).glob("*.json")):
        try:
            stored = load(path)
        except BaselineError:
            continue  # of its own kind or not, it is compared with nothing
        if stored.simulated != simulated:
            kinds = ("simulated", "real") if simulated else ("real", "simulated")
            raise BaselineError(
                tried=f"store a {kinds[0]} run in baselines/{rig}",
                found=f"{stored.name} there is of a {kinds[1]} machine",
                do="give the simulated machine a rig of its own name",
            )


def _is_there(path: Path) -> bool:
    """Tell presence from unreadability: a folder without permission is no missing baseline."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise BaselineError(
            tried=f"look for the baseline {path}",
            found=error.strerror or str(error),
            do="check the permissions of baselines/",
        ) from error
    return True


def load(path: Path) -> BaselineFile:
    """Read one baseline; BaselineError when it is missing, corrupt, of another schema, or misnamed."""
    tried = f"read the baseline {path}"
    restore = f"restore it (git checkout -- {path}), or store it anew from a good run: "
    restore += 'tokgate baseline update reports/latest --why "…"'
    try:
        if not path.is_file() and path.exists():  # reading a pipe would wait for a writer
            raise BaselineError(tried=tried, found="no regular file", do=restore)
        if path.stat().st_size > LARGEST_FILE:
            raise BaselineError(tried=tried, found=f"{path.stat().st_size} bytes", do=restore)
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BaselineError(
            tried=tried, found=error.strerror or str(error), do="check the path and its permissions"
        ) from error
    except (ValueError, RecursionError) as error:  # broken UTF-8 is a ValueError too
        raise BaselineError(tried=tried, found=f"no JSON: {error}", do=restore) from error
    number = raw.get("schema_number") if isinstance(raw, dict) else None
    if number != SCHEMA:
        raise BaselineError(
            tried=tried,
            found=f"schema_number {number!r}, this tokgate reads {SCHEMA}",
            do=f"use the tokgate that wrote it, or {restore}",
        )
    try:
        # Through JSON again: strictness about tuples differs between Python and JSON input.
        baseline = BaselineFile.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the whole file"
        raise BaselineError(tried=tried, found=f"{where}: {first['msg']}", do=restore) from error
    if path.stem != baseline.identity_hash[:HASH_DIGITS]:
        raise BaselineError(
            tried=tried,
            found=f"its identity belongs into {baseline.identity_hash[:HASH_DIGITS]}.json: renamed or copied",
            do=restore,
        )
    if path.parent.name != baseline.rig:
        raise BaselineError(
            tried=tried,
            found=f"it belongs to rig {baseline.rig!r}: copied from another rig's folder, or edited by hand",
            do=restore,
        )
    return baseline
