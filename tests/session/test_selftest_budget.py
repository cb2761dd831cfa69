"""A self-test whose budget ends before anything is compared stops at the first server run that shows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.verdicts.evidence import make_rig
from tests.verdicts.selftest_examples import launches
from tokgate.records import Fingerprint
from tokgate.records.selftest import PlantedLaunch, SelfTest
from tokgate.session import selftest as module
from tokgate.session.selftest import SelfTesting
from tokgate.session.selftest_plan import Asked

A_RUN_S = 66.0


class Machine:
    """Server runs that take their time by a clock of their own."""

    def __init__(self) -> None:
        self.now = 0.0
        self.started: list[str] = []

    def clock(self) -> float:
        return self.now

    def planted_run(self, _stand: object, _asked: object, launch: Any, _cells: object) -> SimpleNamespace:
        def run() -> None:
            self.started.append(launch.id)
            self.now += A_RUN_S

        def result(seconds: float) -> PlantedLaunch:
            return launches(8)[len(self.started) - 1].model_copy(update={"seconds": seconds})

        return SimpleNamespace(run=run, result=result)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    @contextmanager
    def lease(*_: object, **__: object) -> Iterator[object]:
        yield None

    own = Machine()
    monkeypatch.setattr(module, "connect", lambda *_, **__: None)
    monkeypatch.setattr(module, "lease", lease)
    monkeypatch.setattr(module, "swept", lambda *_: ())
    monkeypatch.setattr(module, "fingerprint", lambda *_: Fingerprint(facts={"sglang.version": "0.5.23"}))
    no_sides = SimpleNamespace(open=lambda: None, facts=lambda found: found, close=lambda: None)
    monkeypatch.setattr(module, "Sides", lambda *_, **__: no_sides)
    monkeypatch.setattr(module, "PlantedRun", own.planted_run)
    return own


def carried_out(machine: Machine, folder: Path, budget_s: float) -> SelfTest:
    asked = Asked(
        arm="eagle3-2step",
        workloads=("single",),
        levels=(0.05, 0.1),
        restarts=8,
        baseline_runs=4,
        session_runs=4,
        budget_s=budget_s,
    )
    return SelfTesting(
        make_rig(),
        asked,
        name="x-selftest",
        folder=folder / "raw",
        root=folder,
        store=folder,
        commit=None,
        say=lambda _: None,
        clock=machine.clock,
    ).run()


def test_no_second_server_is_started_that_could_change_nothing(machine: Machine, tmp_path: Path) -> None:
    found = carried_out(machine, tmp_path, 150.0)

    assert machine.started == ["01-eagle3-2step-selftest"]
    assert not found.complete
    assert found.why_incomplete is not None
    assert "7 server runs of about 66 s: 8 min, and the budget of 150 s leaves 84 s" in found.why_incomplete
    assert "--budget 590" in found.why_incomplete


def test_the_budget_that_was_named_is_enough(machine: Machine, tmp_path: Path) -> None:
    found = carried_out(machine, tmp_path, 590.0)

    assert len(machine.started) == 8
    assert found.complete
