"""Drawn settings of the box, generated as run folders and diagnosed: what was called, and how it fits the truth."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simbox.knobs import Knobs
from tokgate.records import Outcome, RunEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.session.run_folder import load_run
from tokgate.verdicts.baselines.file import BaselineFile, BaselineLaunch, Provenance
from tokgate.verdicts.baselines.identity import identity_hash, identity_of_launch
from tokgate.verdicts.baselines.save import save
from tokgate.verdicts.diagnosis.cause import RANKED, Diagnosis
from tokgate.verdicts.diagnosis.ranking import diagnose
from tokgate.verdicts.diagnosis.readings import good_of, raw_series, timed
from tokgate.verdicts.diagnosis.stored import baselines_in
from tokgate.verdicts.launch_phases import LaunchPhases, phases_told

from .drawn_causes import Drawn
from .generated_run import generate

GOOD_DAYS = (900_001, 900_002, 900_003)  # seeds of the sessions that the baseline is made of
WORKLOAD = "single"
# Stands for whatever the checks conclude: the diagnosis asks of most of them only whether one of them is bad.
BAD = Verdict(check="speculation_beats_its_twin", outcome=Outcome.REGRESSED, headline="it is slower")


@dataclass(frozen=True)
class Judged:
    """What was called of one drawn setting, in order, beside the truth."""

    drawn: Drawn
    called: tuple[str, ...]
    diagnosis: Diagnosis | None = None

    @property
    def missed(self) -> list[str]:
        return [cause for cause in self.drawn.must if cause not in self.called]

    @property
    def false(self) -> list[str]:
        return [cause for cause in self.called if cause not in self.drawn.may]

    @property
    def misplaced(self) -> list[str]:
        """Say which causes that had to be found stand behind one that is none, or behind a much smaller one."""
        place = {cause: n for n, cause in enumerate(self.called)}
        found = [c for c in self.drawn.must if c in place and place[c] >= len(self.drawn.may)]
        voids = {c.name for c in self.diagnosis.causes if c.share is None} if self.diagnosis else set()
        found += [
            f"{small} before {large}"
            for large, small in self.drawn.ordered
            if large in place and small in place and place[large] > place[small] and small not in voids
        ]
        return found

    @property
    def wrong(self) -> str | None:
        if not (self.missed or self.false or self.misplaced):
            return None
        really = {cause: round(self.drawn.shares[cause], 3) for cause in self.drawn.causes}
        return (
            f"seed {self.drawn.seed}: really {really}, called {list(self.called)}: missed {self.missed}, "
            f"false {self.false}, misplaced {self.misplaced}"
        )


def good_days(folder: Path) -> Path:
    """Store baselines of a few healthy sessions below `folder`, as a checkout has them, and return their folder."""
    runs = [load_run(generate(folder / f"day-{seed}", Knobs(), seed=seed).folder) for seed in GOOD_DAYS]
    rig = runs[-1][1]
    for arm in rig.arms:
        save(folder, _baseline(rig, arm.name, [run for run, _ in runs]))
    return folder / "baselines"


def played(folder: Path, drawn: Drawn, baselines: Path) -> Path:
    """Generate the run folder of a drawn setting, with copies of the baselines in it."""
    generate(folder, drawn.knobs, seed=drawn.seed, stranger_at=drawn.stranger_at)
    shutil.copytree(baselines, folder / "baselines")
    return folder


def judge(folder: Path, drawn: Drawn) -> Judged:
    """Diagnose a folder as every report of it does, the verdicts left out."""
    run, rig = load_run(folder)
    stored = baselines_in(folder, rig, run)
    assert len(stored) == len(rig.arms), "the baselines are of another identity"
    found = diagnose(rig, run, [BAD], stored)
    return Judged(drawn, tuple(c.name for c in found.causes if c.strength in RANKED), found)


def judged_file(folder: Path, drawn: Drawn) -> Judged:
    """Read what `tokgate report` wrote."""
    told = json.loads((folder / "verdict.json").read_text(encoding="utf-8"))["diagnosis"]["causes"]
    return Judged(drawn, tuple(c["name"] for c in told if c["strength"] in RANKED))


def confusion(judged: Sequence[Judged], causes: Iterable[str]) -> Mapping[str, Counter[str]]:
    """Count per cause: there and called, there and missed, too small to be told and called or not, called and not there."""
    table: dict[str, Counter[str]] = {}
    for cause in causes:
        counts: Counter[str] = Counter()
        for one in judged:
            called = cause in one.called
            if cause in one.drawn.must:
                counts["called" if called else "missed"] += 1
            elif cause in one.drawn.may:
                counts["small, called" if called else "small, not called"] += 1
            else:
                counts["false" if called else "rightly not called"] += 1
        table[cause] = counts
    return table


def _baseline(rig: Rig, arm: str, runs: Sequence[RunEvidence]) -> BaselineFile:
    newest = runs[-1]
    launches = [(run, launch) for run in runs for launch in timed(run, arm)]
    identity = identity_of_launch(rig, launches[-1][1], WORKLOAD, newest.fingerprint)
    carriers = [(run, e) for run in runs for e in run.launches if e.launch.role == "instrumented"]
    phases = [
        phases_told(run.info.run_id, e, WORKLOAD, good_of(e, WORKLOAD))
        for run, e in carriers
        if e.launch.arm == arm
    ]
    return BaselineFile(
        rig=rig.name,
        arm=arm,
        workload=WORKLOAD,
        simulated=True,
        identity=identity,
        identity_hash=identity_hash(identity),
        fingerprint=newest.fingerprint,
        provenance=Provenance(
            who="a test",
            when="2026-11-30T00:00:00Z",
            why="good days",
            runs=tuple(r.info.run_id for r in runs),
        ),
        launches=tuple(
            BaselineLaunch(
                run_id=run.info.run_id,
                launch=launch.launch.id,
                samples={
                    name: series.by_start for name, series in sorted(raw_series(launch, WORKLOAD).items())
                },
            )
            for run, launch in launches
        ),
        phases=tuple(p for p in phases if isinstance(p, LaunchPhases)),
    )
