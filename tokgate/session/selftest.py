"""`tokgate selftest`: server run after server run, what is known so far stored after each of them."""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections.abc import Callable
from pathlib import Path

import tokgate
from tokgate.errors import BenchFault
from tokgate.hosts.connection import connect
from tokgate.hosts.fingerprint import fingerprint
from tokgate.hosts.lease import lease
from tokgate.records.selftest import SelfTest
from tokgate.rig.models import Rig
from tokgate.verdicts.selftest import judge_selftest, rate
from tokgate.verdicts.selftest_file import save_selftest, settings_of

from .plant import too_old
from .rig_secrets import redactor_of
from .run_folder import RunFolder
from .selftest_plan import Asked, cells_of, launches_of, time_words, too_little
from .selftest_run import BudgetSpentError, CannotPlantError, PlantedRun, Stand, timed
from .sides import Sides
from .sides_file import SIDES
from .taken_over import swept

MOST_FAILED = 2  # server runs in a row that break off before a self-test gives up


class SelfTesting:
    """One self-test. `folder` is where everything raw goes; what it finds is stored below `store`."""

    def __init__(
        self,
        rig: Rig,
        asked: Asked,
        *,
        name: str,
        folder: Path,
        root: Path,
        store: Path,
        commit: str | None,
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rig, self._asked, self._root, self._store, self._say = rig, asked, root, store, say
        self._redactor = redactor_of(rig)
        self._folder = RunFolder(folder, self._redactor)
        self._clock = clock
        self._began = clock()
        self._name, self._commit = name, commit

    def run(self) -> SelfTest:
        """Measure and store. What was measured before a fault, the end of the budget or Ctrl-C is kept and judged.

        BenchFault: the session could not begin, or nothing can be planted here; nothing is stored then.
        KeyboardInterrupt is passed on once what there is has been stored.
        """
        rig, asked = self._rig, self._asked
        host = connect(rig.host, redactor=self._redactor)
        sides = Sides(
            host,
            rig,
            run_id=self._name,
            keep=lambda made: self._folder.write_record(SIDES, made),
            say=self._say,
        )
        with lease(host, owner=self._name) as held, contextlib.closing(sides):
            for line in swept((host,), held):
                self._say(line)
            machine = fingerprint(host, rig)
            sides.open()
            machine = sides.facts(machine)
            if (why := too_old(machine.facts.get("sglang.version"))) is not None:
                raise CannotPlantError(
                    tried=f"to plant slowdowns on {rig.name}",
                    found=why,
                    do="use a later SGLang; without planting no self-test is possible on this rig",
                )
            self._folder.write_record("rig.json", rig)
            self._folder.write_record("fingerprint.json", machine)
            found = SelfTest(
                id=self._name,
                rig=rig.name,
                simulated=rig.simulated,
                arm=asked.arm,
                workloads=asked.workloads,
                sglang_version=machine.facts.get("sglang.version"),
                started_at=_now(),
                tokgate_version=tokgate.__version__,
                tokgate_commit=self._commit,
                restarts=asked.restarts,
                baseline_runs=asked.baseline_runs,
                session_runs=asked.session_runs,
                levels=asked.levels,
                false_alarm=rig.sampling.false_alarm,
                settings=settings_of(rig),
                fingerprint=machine,
                alarms=rate(0, 0),
            )
            stand = Stand(
                rig=rig,
                host=host,
                lease=held,
                folder=self._folder,
                redactor=self._redactor,
                run_id=self._name,
                root=self._root,
                say=self._say,
                sides=sides,
                is_over=lambda: self._left_s() <= 0,
            )
            return self._runs(stand, found)

    def _runs(self, stand: Stand, found: SelfTest) -> SelfTest:
        failed = 0
        for number, launch in enumerate(launches_of(self._asked)):
            if (why := self._hopeless(found)) is not None:
                return self._stored(found, why)
            longest = max((one.seconds for one in found.launches), default=0.0)
            if self._left_s() < longest:
                return self._stored(
                    found, f"its budget of {self._asked.budget_s:.0f} s would not take another server run"
                )
            run = PlantedRun(stand, self._asked, launch, cells_of(self._asked, number))
            seconds, broken = timed(run, self._clock)
            if isinstance(broken, CannotPlantError) or (broken and not found.launches and _is_final(broken)):
                raise broken
            found = found.model_copy(update={"launches": (*found.launches, run.result(seconds))})
            if isinstance(broken, KeyboardInterrupt):
                self._stored(found, "interrupted")
                raise broken
            if isinstance(broken, BudgetSpentError):
                return self._stored(found, f"its budget of {self._asked.budget_s:.0f} s was spent")
            if isinstance(broken, BenchFault):
                self._say(f"{launch.id}  broke off: {broken.found}")
                failed += 1
                if failed == MOST_FAILED:
                    return self._stored(found, f"{failed} server runs in a row broke off: {broken.found}")
            else:
                failed = 0
            found = self._stored(
                found, _broken_off(found) if number + 1 == self._asked.restarts else "still running"
            )
            if number == 0 and self._asked.restarts > 1:
                self._say(time_words(self._asked.restarts - 1, seconds) + " are left")
        return found

    def _stored(self, found: SelfTest, why_incomplete: str | None) -> SelfTest:
        """Judge what there is and store it. A self-test of which nothing can be compared is stored all the same."""
        alarms, judged = judge_selftest(
            self._rig,
            found.launches,
            baseline_runs=self._asked.baseline_runs,
            session_runs=self._asked.session_runs,
        )
        found = found.model_copy(
            update={
                "alarms": alarms,
                "found": judged,
                "finished_at": _now(),
                "complete": why_incomplete is None,
                "why_incomplete": why_incomplete,
            }
        )
        save_selftest(self._store, found)
        return found

    def _hopeless(self, found: SelfTest) -> str | None:
        """Say why the budget ends before anything is compared, as soon as one server run has shown it."""
        if found.seconds_a_run is None:
            return None
        hopeless = too_little(
            self._asked, done=len(found.launches), seconds_a_run=found.seconds_a_run, left_s=self._left_s()
        )
        return f"{hopeless.found}; do: {hopeless.do}" if hopeless is not None else None

    def _left_s(self) -> float:
        if self._asked.budget_s is None:
            return float("inf")
        return self._asked.budget_s - (self._clock() - self._began)


def _is_final(broken: BaseException) -> bool:
    """Say whether a first server run that ended so leaves nothing to try."""
    return isinstance(broken, BenchFault) and not isinstance(broken, BudgetSpentError)


def _broken_off(found: SelfTest) -> str | None:
    """Say how many server runs have a block that cannot be judged; None where all of them can."""
    bad = sum(any(b.fault for b in one.blocks) for one in found.launches)
    return f"{bad} of {len(found.launches)} server runs could not be judged as a whole" if bad else None


def _now() -> str:
    return dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
