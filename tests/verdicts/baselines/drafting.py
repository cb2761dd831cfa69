"""Runs about to be stored, and the baselines that are there."""

from __future__ import annotations

from typing import Any

from tests.verdicts.evidence import (
    STEADY,
    controls,
    make_rig,
    make_run,
)
from tokgate.records import RunEvidence, Verdict
from tokgate.rig.models import Rig
from tokgate.verdicts.baselines.draft import Draft, Given, Request
from tokgate.verdicts.baselines.file import Absence, BaselineFile
from tokgate.verdicts.baselines.identity import Identity
from tokgate.verdicts.baselines.update import drafts

ONE = [{"name": "single", "prompts": "ids", "output_tokens": 256, "repeats": 6}]
RIG = make_rig(workloads=ONE)


class Shelf:
    """Baselines by identity, as a folder would hold them."""

    def __init__(self, *stored: BaselineFile) -> None:
        self.stored = {tuple(sorted(s.identity.items())): s for s in stored}

    def __call__(self, identity: Identity) -> BaselineFile | Absence:
        absent = Absence(path="baselines/small/0.json", identity=identity)
        return self.stored.get(tuple(sorted(identity.items())), absent)


def drawn(
    run: RunEvidence,
    shelf: Shelf | None = None,
    *more: RunEvidence,
    judged: tuple[Verdict, ...] | None = (),
    rig: Rig = RIG,
    **options: Any,
) -> tuple[Draft, ...]:
    given = [Given(rig=rig, run=one, judged=judged) for one in (run, *more)]
    asked = {"who": "ada", "when": "2026-11-29T13:00:00+00:00", "why": "new driver", **options}
    return drafts(given, shelf or Shelf(), Request(**asked))


def named(run: RunEvidence, name: str) -> RunEvidence:
    return run.model_copy(update={"info": run.info.model_copy(update={"run_id": name})})


def faster(by: float, *names: str) -> list[RunEvidence]:
    values = tuple(v * by for v in STEADY)
    return [named(make_run(*controls(values, values)), name) for name in names]


def of_three_sessions() -> Draft:
    run, *more = faster(1.0, "x", "y", "z")
    return drawn(run, Shelf(), *more)[0]
