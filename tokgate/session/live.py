"""A gate session on a living host."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable
from pathlib import Path

from tokgate.client.headroom import measure_ceiling
from tokgate.errors import BenchFault, UsageError
from tokgate.hosts.connection import connect
from tokgate.hosts.fingerprint import fingerprint
from tokgate.hosts.lease import Lease, lease
from tokgate.records import (
    CleanSlate,
    Finding,
    Fingerprint,
    Launch,
    LaunchEvidence,
    RunInfo,
    SamplingStep,
    StartCause,
)
from tokgate.records.progress import SessionOpened, Stage, StageBegan
from tokgate.rig.models import Rig

from .launch_run import Bench, LaunchRun
from .nccl_settings import judge_nccl, refuse_broken, told, with_notes
from .progress import Progress, unheard
from .refused import by_every_server
from .rig_secrets import redactor_of
from .rounds import Rounds, plain_rounds
from .run_folder import RunFolder, load_launch
from .slates import Slates


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
    ) -> None:
        self.rig = rig
        self._info = info
        self._redactor = redactor_of(rig)
        self._folder = RunFolder(folder, self._redactor)
        self._root = root
        self._say = say
        self._progress = progress
        self._held = contextlib.ExitStack()
        self._bench: Bench | None = None
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
        host = connect(self.rig.host, redactor=self._redactor)
        held = self._held.enter_context(lease(host, owner=self._info.run_id))
        for finding in _taken_over(held):
            self._say(finding.what)
        found = fingerprint(host, self.rig)
        nccl = judge_nccl(host, self.rig, found)
        self._fingerprint = with_notes(found, nccl)
        self._folder.write_record("fingerprint.json", self._fingerprint)
        self._folder.write_record("nccl-lint.json", nccl)
        for line in told(nccl):
            self._say(line)
        refuse_broken(nccl)
        slates = Slates(host, self.rig, self._progress)
        self._slate_at_start = slates.look("session start", (*self._fingerprint.notes, *_taken_over(held)))
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
            say=self._say,
            progress=self._progress,
        )
        self._progress(SessionOpened())

    def close(self) -> None:
        self._held.close()
        now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        self._folder.write_record("run.json", self._info.model_copy(update={"finished_at": now}))

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

    def _shared_cause(self) -> LaunchEvidence | None:
        """Return the first launch that failed for a cause that all launches share, if one has."""
        for evidence in self._measured.values():
            failure = evidence.failure
            first = evidence.launch.role in ("control", "nccl-proof", "sweep-control")
            if (
                first
                and failure
                and (failure.cause in _SHARED or by_every_server(self.rig, evidence.launch.arm, failure))
            ):
                return evidence
        return None

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
            run = LaunchRun(self._bench, launch)
            # However it ends, it is not tried again: a second server on the same folder would mix two launches.
            self._measured[launch.id] = _unread(launch, "the session broke off before")
            try:
                if (cause := self._shared_cause()) is None:
                    run.run(rounds)
                else:
                    run.leave_out(cause)
            finally:
                self._measured[launch.id] = self._read_back(launch)
        return self._measured[launch.id]

    def restarts(self) -> tuple[LaunchEvidence, ...]:
        """Return the server runs beyond the plan, in the order in which they were made."""
        return tuple(e for e in self._measured.values() if e.launch.round)

    def planned(self) -> tuple[LaunchEvidence, ...]:
        """Return what has been measured of the plan."""
        return tuple(e for e in self._measured.values() if not e.launch.round)

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


# Causes of a failed start that every other launch of the rig shares: trying them costs GPU time for nothing.
_SHARED = {
    StartCause.NO_PYTHON,
    StartCause.NO_MODULE,
    StartCause.NO_MODEL,
    StartCause.LOG_NOT_WRITABLE,
    StartCause.NO_SUPERVISOR,
}


def _unread(launch: Launch, why: str) -> LaunchEvidence:
    return LaunchEvidence(launch=launch, faults=(f"what {launch.id} left cannot be read back: {why}",))


def _taken_over(held: Lease) -> tuple[Finding, ...]:
    if held.took_over is None:
        return ()
    return (
        Finding(
            severity="note",
            what=f"a stale lease of {held.owner_before or 'an unknown run'} was taken over: {held.took_over}",
            do="find out how the gate before this one ended; its run folder holds what it had measured",
        ),
    )
