"""Stored baselines as records: one file per identity, every sample kept. load and save have the files."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tokgate.records import Difference, Fingerprint
from tokgate.records.record import Record
from tokgate.verdicts.launch_phases import LaunchPhases
from tokgate.verdicts.ledger import Accepted, Anchored, Level, Value, anchors_of, levels_of
from tokgate.verdicts.metrics import METRICS

from .identity import Identity, identity_hash

SCHEMA: Literal[1] = 1
HASH_DIGITS = 12

# How far a remembered level may lie from what the samples give: rounding, and a later tokgate's way to average.
OFF_LEVEL = 0.005
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
    sglang_commit: str | None = None  # None: a wheel, or nobody could tell
    sglang_tree: str | None = None  # "no": as installed or committed; else a hash of what differs
    despite: tuple[str, ...] = ()  # doubts that were overruled when it was stored


class BaselineFile(Record):
    schema_number: Literal[1] = SCHEMA
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
    # Per metric what the first accepted baseline measured, and what was accepted since, oldest first. A file of an earlier
    # tokgate has neither: its own samples are then the anchor.
    anchor: dict[str, Anchored] = {}
    accepted: tuple[Accepted, ...] = ()

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
        if (odd := self._odd_ledger()) is not None:
            raise ValueError(f"{odd}: edited by hand")
        return self

    def _odd_ledger(self) -> str | None:
        """What was accepted last is what the samples give: a level written smaller, or samples taken out, would hide a loss."""
        if self.accepted and not self.anchor:
            return "levels were accepted since an anchor that is not there"
        told = self.accepted[-1].levels if self.accepted else self.anchor
        if not told:
            return None  # of an earlier tokgate: nothing is remembered
        levels = self.levels
        for name in METRICS:
            level, remembered = levels.get(name), told.get(name)
            if (odd := _odd_level(level, remembered)) is not None:
                return f"{name}: {odd}"
        return None

    @property
    def name(self) -> str:
        """How messages call the file, e.g. baselines/h200/1f0c3a9b2d4e.json."""
        return f"baselines/{self.rig}/{self.identity_hash[:HASH_DIGITS]}.json"

    @property
    def levels(self) -> dict[str, Level]:
        """What the samples give, per metric."""
        return levels_of(self.launches)

    @property
    def anchored(self) -> dict[str, Anchored]:
        """The anchor; of a file without one, its own samples, since nothing older is known."""
        if self.anchor:
            return self.anchor
        told = self.provenance
        return anchors_of(self.levels, when=told.when, why=told.why, sessions=self.sessions)

    @property
    def sessions(self) -> tuple[str, ...]:
        """The ids of the runs that its launches are of, in order."""
        return tuple(dict.fromkeys(one.run_id for one in self.launches))

    def by_start(self, metric: str) -> tuple[tuple[float, ...], ...]:
        """Return the values of a metric, one tuple per barrier start, over all launches."""
        return tuple(start for launch in self.launches for start in launch.values(metric))


def _odd_level(given: Level | None, remembered: Level | None) -> str | None:
    """Say how what the samples give contradicts what is remembered of one metric."""
    if given is None:
        return (
            f"no launch holds a sample of it, its level says {remembered.value:g}"
            if remembered is not None
            else None
        )
    if remembered is None:
        return f"the samples give {given.value:g}, and no level of it is remembered"
    counts, then = (
        f"{one.starts} starts in {one.runs} server runs of {one.sessions} sessions"
        for one in (given, remembered)
    )
    if counts != then:
        return f"there are samples of {counts}, its level says {then}"
    if abs(remembered.value / given.value - 1) > OFF_LEVEL:
        return f"the samples give {given.value:g}, its level says {remembered.value:g}"
    return None


class Absence(Record):
    """No baseline of this identity, and the nearest one that exists."""

    path: str  # where it would be, relative to the checkout
    identity: Identity
    nearest: str | None = None
    differs: tuple[Difference, ...] = ()  # from the nearest
    unreadable: tuple[str, ...] = ()  # neighbours that could not be read
