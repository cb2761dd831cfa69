"""A gate session on a living host."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Sequence
from pathlib import Path

from tokgate.client.headroom import measure_ceiling
from tokgate.errors import BenchFault, UsageError
from tokgate.records import (
    CleanSlate,
    Fingerprint,
    Launch,
    LaunchEvidence,
    RunInfo,
    SamplingStep,
)
from tokgate.records.progress import SessionOpened, Stage, StageBegan
from tokgate.records.side import SidesMade
from tokgate.rig.models import Rig

from .asked_for import AskedFor
from .bench import Bench
from .launch_run import LaunchRun
from .machines import refuse_one_machine
from .nccl_settings import judge_nccl, refuse_broken, told, with_notes
from .no_comparison import left_out, starts_alone
from .node_sides import sides_on
from .nodes import Node, connected, fingerprints, leased, slates_of
from .not_made import NotMade
from .progress import Progress, unheard
from .rig_secrets import redactor_of
from .rounds import Rounds, plain_rounds
from .run_folder import RunFolder, load_launch
from .shared_cause import shared_cause
from .sides import Sides
from .sides_file import SIDES, bound
from .taken_over import swept, taken_over


class LiveSession:
    """Open it before use: it takes the host's lease, looks at the machine, and writes the folder's head.

    What it will be asked for is told beforehand (session_plan.py). BenchFault from `open` when the host cannot be
    reached or is leased to another gate.
    """

    def __init__(
        self,
        *,
        rig: Rig,
        info: RunInfo,
        folder: Path,
        root: Path,
        say: Callable[[str], None],
        progress: Progress = unheard,
        asked: AskedFor | None = None,
    ) -> None:
        """`asked`: what is wanted of its launches; None: everything."""
        self.rig = rig
        self._asked = asked or AskedFor()
        self._info = info
        self._redactor = redactor_of(rig)
        self._folder = RunFolder(folder, self._redactor)
        self._root = root
        self._say = say
        self._progress = progress
        self._held = contextlib.ExitStack()
        self._bench: Bench | None = None
        self._sides: Sides | None = None
        self._fingerprint: Fingerprint | None = None
        self._slate_at_start: CleanSlate | None = None
        self._slate_at_end: CleanSlate | None = None
        self._measured: dict[str, LaunchEvidence] = {}

    def open(self) -> None:
        try:
            self._begin()
        except BenchFault as fault:
            # Kept, so that judging the folder again names the same cause.
            self._info = self._info.model_copy(update={"fault": (fault.tried, fault.found, fault.do)})
            raise

    def _begin(self) -> None:
        self._folder.write_record("run.json", self._info)
        self._folder.write_record("rig.json", self.rig)
        self._progress(StageBegan(stage=Stage.OPENING))
        nodes = connected(self.rig, self._redactor)
        host = nodes[0].host
        refuse_one_machine(nodes)
        held = self._held.enter_context(leased(nodes, owner=self._info.run_id))
        for finding in taken_over(held):
            self._say(finding.what)
        for line in swept((node.host for node in nodes), held):
            self._say(line)
        found = fingerprints(nodes)
        nccl = judge_nccl(host, self.rig, found)
        self._fingerprint = with_notes(found, nccl)
        self._folder.write_record("fingerprint.json", self._fingerprint)
        self._folder.write_record("nccl-lint.json", nccl)
        for line in told(nccl):
            self._say(line)
        refuse_broken(nccl)
        self._sides = self._make_sides(nodes)
        slates = slates_of(nodes, self.rig, self._progress)
        self._slate_at_start = slates.look("session start", (*self._fingerprint.notes, *taken_over(held)))
        self._folder.write_record("slate-start.json", self._slate_at_start)
        ceiling = measure_ceiling()
        self._say(f"client ceiling on this machine: {ceiling:,.0f} events/s")
        self._bench = Bench(
            rig=self.rig,
            host=host,
            lease=held,
            folder=self._folder,
            redactor=self._redactor,
            run_id=self._info.run_id,
            root=self._root,
            client_ceiling=ceiling,
            slates=slates,
            sides=self._sides,
            nodes=nodes if len(nodes) > 1 else (),
            say=self._say,
            progress=self._progress,
        )
        self._progress(SessionOpened())

    def _make_sides(self, nodes: Sequence[Node]) -> Sides:
        sides = sides_on(
            nodes,
            run_id=self._info.run_id,
            keep=lambda made: self._folder.write_record(SIDES, bound(made, self._info.run_id, self.rig)),
            say=self._say,
        )
        self._held.callback(sides.close)  # before the lease is given back
        sides.open()
        if sides.made is not None and self._fingerprint is not None:
            self._fingerprint = sides.facts(self._fingerprint)
            self._folder.write_record("fingerprint.json", self._fingerprint)
        return sides

    @property
    def sides(self) -> Sides | None:
        """The trees that this session measures; None before it is open."""
        return self._sides

    @property
    def sides_made(self) -> SidesMade | None:
        """Return what they are made of; None where no change is measured."""
        return self._sides.made if self._sides is not None else None

    def close(self) -> None:
        self._held.close()
        now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        self._folder.write_record("run.json", self._info.model_copy(update={"finished_at": now}))

    @property
    def site(self) -> Bench | None:
        """Host, lease and folder of an open session; None before it is open."""
        return self._bench

    @property
    def fingerprint(self) -> Fingerprint | None:
        return self._fingerprint

    @property
    def slate_at_start(self) -> CleanSlate | None:
        return self._slate_at_start

    @property
    def slate_at_end(self) -> CleanSlate | None:
        """Looked at when first asked for, after the last server has stopped."""
        if self._slate_at_end is None and self._bench is not None:
            self._progress(StageBegan(stage=Stage.CLEAN_SLATE))
            self._slate_at_end = self._bench.slates.look("session end")
            self._folder.write_record("slate-end.json", self._slate_at_end)
        return self._slate_at_end

    def is_measured(self, launch: Launch) -> bool:
        return launch.id in self._measured

    def holds(self, launch: Launch) -> bool:  # noqa: ARG002 - what is asked for is measured
        """Say whether there can be evidence of a launch."""
        return True

    def measured(self, launch: Launch, rounds: Rounds = plain_rounds) -> LaunchEvidence:
        """Return the evidence of one launch; the first call makes the server run."""
        if launch.id not in self._measured:
            if self._bench is None:
                return LaunchEvidence(launch=launch, faults=("the session was never opened",))
            launch = self._asked.of(launch)
            done = tuple(self._measured.values())
            # However it ends, it is not tried again: a second server on the same folder would mix two launches.
            self._measured[launch.id] = _unread(launch, "the session broke off before")
            try:
                self._make(self._bench, launch, done, rounds)
            finally:
                self._measured[launch.id] = self._read_back(launch)
        return self._measured[launch.id]

    def _make(self, bench: Bench, launch: Launch, done: Sequence[LaunchEvidence], rounds: Rounds) -> None:
        """Make a launch, but where it would fail as one before it did, or nothing could be concluded from it."""
        broken, without = bench.sides.broken, NotMade(bench, launch)
        cause = shared_cause(done, launch, self.rig)
        alone = self._asked.change_alone
        if cause is not None:
            without.for_a_shared_cause(cause)
        elif reason := left_out(self.rig, done, launch, broken=broken, change_alone=alone):
            told = any(e.left_out is not None and e.left_out.why == reason.why for e in done)
            without.for_nothing_to_conclude(reason, is_news=not told)
        elif failure := broken.get(launch.side or ""):
            without.as_it_would_fail(failure)
        else:
            LaunchRun(bench, launch, starts_alone=starts_alone(done, launch)).run(rounds)

    def restarts(self) -> tuple[LaunchEvidence, ...]:
        """Return the server runs beyond the plan, in the order in which they were made."""
        return tuple(e for e in self._measured.values() if e.launch.round and e.launch.role != "culprit")

    def searched(self) -> tuple[LaunchEvidence, ...]:
        """Return the server runs of a search for the part of a change that costs, in order."""
        return tuple(e for e in self._measured.values() if e.launch.role == "culprit")

    def planned(self) -> tuple[LaunchEvidence, ...]:
        """Return what has been measured of the plan."""
        return tuple(e for e in self._measured.values() if not e.launch.round)

    def keep_search(self, step: SamplingStep) -> None:
        """Write down what a search measures next, or why it ended."""
        self._folder.append_search(step)

    def keep(self, step: SamplingStep) -> None:
        """Write down a decision of the stop rule."""
        self._folder.append_sampling(step)

    def _read_back(self, launch: Launch) -> LaunchEvidence:
        """Return what lies on disk: what is judged now is what `tokgate report` judges later. Never raises."""
        try:
            return load_launch(self._folder.launch_folder(launch.id))
        except UsageError as error:
            return _unread(launch, f"{error.tried}: {error.found}")
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not replace an exception in flight
            return _unread(launch, f"{type(error).__name__}: {error}")


def _unread(launch: Launch, why: str) -> LaunchEvidence:
    return LaunchEvidence(launch=launch, faults=(f"what {launch.id} left cannot be read back: {why}",))
