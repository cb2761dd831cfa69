"""Stored baselines: one JSON file per identity, every sample kept.

Beside baseline_save the only module of this room that touches files.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, FiniteFloat, ValidationError, model_validator

from tokgate.errors import BaselineError
from tokgate.records import Difference, Fingerprint
from tokgate.records.record import Record

from .identity import Identity, differences, identity_hash
from .launch_phases import LaunchPhases

SCHEMA = 1
HASH_DIGITS = 12
LARGEST_FILE = 64 * 2**20  # a thousand launches fit ten times over; more is not one of ours

# No measurement is that small or large, and beyond them sums and ratios of values are no numbers any more.
Value = Annotated[FiniteFloat, Field(ge=1e-12, le=1e12)]
Start = Annotated[tuple[Value, ...], Field(min_length=1)]  # the generations of one barrier start


class BaselineLaunch(Record):
    """The samples of one server run: restarts are a level of variance, so launches stay apart."""

    run_id: str
    launch: str
    samples: dict[str, tuple[Start, ...]]  # per metric, per barrier start

    def values(self, metric: str) -> tuple[tuple[float, ...], ...]:
        return self.samples.get(metric, ())


class Provenance(Record):
    who: str
    when: str  # ISO 8601, UTC
    why: str
    runs: tuple[str, ...]
    commit: str | None = None  # of tokgate


class BaselineFile(Record):
    schema_number: Literal[1] = 1
    rig: str
    arm: str
    workload: str
    simulated: bool
    identity: Identity
    identity_hash: str
    fingerprint: Fingerprint | None = None
    provenance: Provenance
    history: tuple[Provenance, ...] = ()  # what was stored here before, newest first
    launches: tuple[BaselineLaunch, ...] = Field(min_length=1)
    # Of launches that carried instruments, none of which is among `launches`. A file without says nothing of phases.
    phases: tuple[LaunchPhases, ...] = ()

    @model_validator(mode="after")
    def _is_whole(self) -> BaselineFile:
        wanted = identity_hash(self.identity)
        if self.identity_hash != wanted:
            raise ValueError(
                f"identity_hash is {self.identity_hash}, its identity hashes to {wanted}: edited by hand"
            )
        if self.identity.get("simulated") != ("true" if self.simulated else "false"):
            raise ValueError("simulated contradicts the identity")
        if not any(launch.samples for launch in self.launches):
            raise ValueError("no launch holds a sample")
        names = [(one.run_id, one.launch) for one in self.phases]
        if len(set(names)) < len(names):
            raise ValueError(
                f"phases: {len(names)} launches, {len(set(names))} different ones: edited by hand"
            )
        for one in self.phases:
            if one.odd is not None:
                raise ValueError(f"phases of {one.launch} of {one.run_id}: {one.odd}: edited by hand")
        return self

    @property
    def name(self) -> str:
        """How messages call the file, e.g. baselines/h200/1f0c3a9b2d4e.json."""
        return f"baselines/{self.rig}/{self.identity_hash[:HASH_DIGITS]}.json"

    def by_start(self, metric: str) -> tuple[tuple[float, ...], ...]:
        """Return the values of a metric, one tuple per barrier start, over all launches."""
        return tuple(start for launch in self.launches for start in launch.values(metric))


class Absence(Record):
    """No baseline of this identity, and the nearest one that exists."""

    path: str  # where it would be, relative to the checkout
    identity: Identity
    nearest: str | None = None
    differs: tuple[Difference, ...] = ()  # from the nearest
    unreadable: tuple[str, ...] = ()  # neighbours that could not be read


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
    restore = f"restore it (git checkout -- {path}), or store it anew: tokgate baseline update RUN --why …"
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
