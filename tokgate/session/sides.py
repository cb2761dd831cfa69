"""The sides of a session on its host: made when they are first needed, proven launch by launch, removed at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from tokgate.errors import BenchFault, HostFault, SideFault
from tokgate.hosts.connection import Host
from tokgate.hosts.side_compile import uncompiled
from tokgate.hosts.side_proof import ended, prove
from tokgate.hosts.sides import TRIED, Looked, look, make, new_folder, remove, remove_leavings
from tokgate.records import EnvironmentTruth, Fingerprint, Launch, StartFailure
from tokgate.records.side import BASE, HEAD, SideProof, SidesMade, SideState, Unit
from tokgate.rig.models import Rig
from tokgate.server.command_line import Equipment


class Sides:
    """`open` it with the lease held; without sides and required patches in the rig it does nothing at all."""

    def __init__(
        self,
        host: Host,
        rig: Rig,
        *,
        run_id: str,
        keep: Callable[[SidesMade], None],
        say: Callable[[str], None],
    ) -> None:
        """`keep` is given what was made, each time that there is more of it."""
        self._host = host
        self._rig = rig
        self._keep = keep
        self._say = say
        self._run_id = run_id
        self._folder: str | None = None  # on the host, from the moment that it may be there
        self._looked: Looked | None = None
        self._made = SidesMade()
        self._unused: dict[
            str, tuple[str, ...]
        ] = {}  # side -> changed files that none of its servers imported
        self._broken: dict[str, StartFailure] = {}
        self._silent: set[str] = set()  # sides of which a server did not start

    @property
    def made(self) -> SidesMade | None:
        """What has been made so far; None where the session has no sides."""
        return self._made if self._looked is not None else None

    @property
    def units(self) -> tuple[Unit, ...]:
        """All of the change, in order; the side `upto(k, len(units))` is the base with the first k of them."""
        return self._made.units

    @property
    def broken(self) -> Mapping[str, StartFailure]:
        """Base or head, if sources of it do not compile: its servers would fail, so none is started."""
        return self._broken

    def open(self) -> None:
        """Look at the change and make base and head. SideFault: why that cannot be, or would say nothing."""
        for line in remove_leavings(self._host):
            self._say(line)
        if self._rig.sides is None and not self._rig.server.required:
            return
        begun = time.monotonic()
        self._folder = new_folder(self._host, self._run_id)
        self._looked = look(self._host, self._rig, self._folder)
        self._made = SidesMade(
            units=self._looked.units, notes=self._looked.notes, imported=self._looked.imported
        )
        for note in self._looked.notes:
            self._say(f"sides: {note}")
        if self._looked.installed is not None:
            self._add(self._looked.installed, begun)
            return
        self.make([BASE, HEAD] if self._rig.sides is not None else [HEAD])
        self._refuse_alike()
        self._compile()

    def make(self, names: Iterable[str]) -> None:
        """Make the sides of these names that there are not yet. SideFault: one cannot be made."""
        for name in names:
            if self._looked is None or self._made.side(name) is not None:
                continue
            begun = time.monotonic()
            state = make(self._host, self._rig, self._looked, name, self._made.side(BASE))
            self._add(state, begun)

    def root_of(self, side: str | None) -> str | None:
        """Return what stands in front of PYTHONPATH for this side, made if need be; None: nothing of ours.

        Where a launch names no side it is the head, if the session has one. SideFault: it cannot be made.
        """
        if self._looked is None or self._looked.installed is not None:
            return None
        name = side or HEAD
        self.make([name])
        state = self._made.side(name)
        return state.root if state is not None else None

    def equip(
        self, launch: Launch, carried: Callable[[str], Equipment] | None
    ) -> Callable[[str], Equipment] | None:
        """Return what equips a launch with its side, behind what it carries anyway. SideFault: the side cannot be made."""
        root = self.root_of(launch.side)
        if root is None:
            return carried
        why = f"SGLang as it is on the side {launch.side or HEAD} is found there"

        def both(there: str) -> Equipment:
            first = carried(there) if carried is not None else Equipment()
            return Equipment(
                python_path=(*first.python_path, root),
                variables=first.variables,
                why=f"{first.why}; {why}" if first.python_path else why,
            )

        return both

    def proof(self, launch: Launch, truth: EnvironmentTruth) -> SideProof | None:
        """Return whether a server that is ready runs its side; None where it has none. Never raises BenchFault."""
        state = self._made.side(launch.side or HEAD)
        if state is None or self._looked is None or self._looked.installed is not None:
            return None
        try:
            found = prove(
                self._host, self._rig, self._rig.arm(launch.arm), state, truth, prefix=self._looked.prefix
            )
        except BenchFault as fault:
            return SideProof(side=state.name, root=state.root, processes=0, why=(fault.found,))
        self._unused[found.side] = (
            found.changed_unused
        )  # what its servers so far left: the last one knows most
        return found

    def at_the_end(self, proof: SideProof) -> SideProof:
        """Return the proof with what the tree was like, and imported of it, when its server had stopped. Never raises HostFault."""
        state = self._made.side(proof.side)
        if state is None or self._looked is None:
            return proof
        try:
            found = ended(self._host, state, proof, prefix=self._looked.prefix)
        except HostFault as fault:
            return proof.model_copy(
                update={"why": (*proof.why, f"its tree could not be read again: {fault.found}")}
            )
        why = proof.why
        if found.tree != state.tree:
            why = (*why, "its tree is not what it was when it was made: something has written into it since")
        if found.moved:
            names = ", ".join(found.moved)
            why = (*why, f"what it links to in the checkout is not what it was when it was made: {names}")
        self._unused[proof.side] = found.unused
        update = {"changed_imported": found.imported, "changed_unused": found.unused}
        return proof.model_copy(update={"tree": found.tree, "why": why, **update})

    def facts(self, found: Fingerprint) -> Fingerprint:
        """Return the fingerprint with what is known of the head in place of what the rig's own Python would import."""
        state = self._made.side(HEAD)
        if state is None or self._looked is None or self._looked.installed is not None:
            return found
        changed = [*state.changed]
        facts = {
            "sglang.location": f"{state.source} (a {state.kind} of it)",
            "sglang.install": state.kind,
            "sglang.commit": state.commit,
            "sglang.dirty": (state.dirty or "")[:16] or "no",
            "sglang.changed": f"{len(changed)}: {', '.join(changed[:20])}" if changed else "0",
        }
        if state.version is not None:
            facts["sglang.version"] = state.version
        return found.model_copy(update={"facts": dict(sorted({**found.facts, **facts}.items()))})

    def did_not_start(self, launch: Launch) -> None:
        """Say nothing of what its side's servers have not imported: the one that did not start may have come to grief there."""
        self._silent.add(launch.side or HEAD)

    def close(self) -> None:
        """Remove everything of it from the host. Never raises HostFault: what stays is found by the next session."""
        if self._folder is None:
            return
        if (unused := self._unused.get(HEAD)) and HEAD not in self._silent:
            self._say(f"side {HEAD}: changed, and imported by no server of this session: {', '.join(unused)}")
        for line in remove(self._host, self._folder):
            self._say(line)

    def _compile(self) -> None:
        """Find what no server could import, before one is started for it."""
        base, head = (self._made.side(name) for name in (BASE, HEAD))
        if base is None or head is None or self._looked is None:
            return
        try:
            self._broken = uncompiled(self._host, self._rig, base, head, prefix=self._looked.prefix)
        except HostFault as fault:
            self._say(f"sides: whether they compile is not known before their servers start: {fault.found}")

    def _refuse_alike(self) -> None:
        """SideFault: base and head are the same tree, whatever was asked for; each number would be held against itself."""
        base, head = (self._made.side(name) for name in (BASE, HEAD))
        if base is None or head is None or base.tree != head.tree:
            return
        causes = []
        if head.required:
            names = ", ".join(unit.name for unit in head.required)
            causes.append(f"the patches that the rig requires are on both sides ({names})")
        both = (
            {f"{self._looked.prefix}{name}" for name in head.carried} if self._looked is not None else set()
        )
        if same := sorted(both & {file for unit in self.units for file in unit.files}):
            causes.append(f"taken over from the checkout for both sides: {', '.join(same)}")
        raise SideFault(
            tried=f"{TRIED} on {self._host.name}",
            found="nothing that a server imports differs: base and head are the same tree when they are made"
            + "".join(f"; {cause}" for cause in causes),
            do="name a change that the head has and the base has not; leave a required patch that is to be measured out of "
            "server.required_patches"
            if causes
            else "name a change that the head has and the base has not",
        )

    def _add(self, state: SideState, begun: float) -> None:
        seconds = (self._made.seconds or 0.0) + time.monotonic() - begun
        sides = (*self._made.sides, state)
        self._made = self._made.model_copy(update={"sides": sides, "seconds": round(seconds, 3)})
        self._keep(self._made)
        said = {note for side in sides[:-1] for note in side.notes}
        for note in state.notes:
            if note not in said:
                self._say(f"side {state.name}: {note}")
