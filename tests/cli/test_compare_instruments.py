"""`tokgate compare` of runs whose launches carried instruments."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.baseline_checkout import ONE, write_run
from tests.cli.compared_runs import RATES, SEEN, tokgate, told
from tests.verdicts.evidence import controls, eagle3, make_rig, make_run
from tests.verdicts.phase_evidence import carrying, table
from tests.verdicts.test_launch_phases import whole
from tokgate.cli import compare as command
from tokgate.records import LaunchEvidence, RunEvidence
from tokgate.records.phases import Phase


@pytest.fixture
def of_instruments(monkeypatch: pytest.MonkeyPatch) -> dict[str, RunEvidence]:
    """Runs by name; on disk phases would be read anew from the probe's own files."""
    runs: dict[str, RunEvidence] = {}
    monkeypatch.setattr(command, "load_run", lambda path: (runs[path.name], make_rig(workloads=ONE)))
    return runs


def carried(verify: float, *launches: LaunchEvidence, run_id: str) -> RunEvidence:
    """A run of `-m verify`: the arm carried its instruments, and nothing else was timed but `launches`."""
    run = make_run(*launches, carrying(table(*whole(verify=verify))))
    return run.model_copy(update={"info": run.info.model_copy(update={"run_id": run_id})})


def test_runs_of_the_instruments_alone_have_their_phases_compared(
    of_instruments: dict[str, RunEvidence],
) -> None:
    of_instruments["first"] = carried(25.0, *controls(), run_id="first")
    of_instruments["second"] = carried(30.0, *controls(), run_id="second")
    found = tokgate("first", "second")
    assert found.exit_code == 0, found.output
    (verify,) = (line for line in found.output.splitlines() if line.split()[:1] == ["verify"])
    assert verify.split()[1] == "+20.0"
    assert "ms p50" in verify
    assert "not compared: eagle3-2step" not in found.output
    assert re.fullmatch(
        re.escape(
            "B against A: eagle3-2step single verify +20.0 % a call, tok/s not timed; no change beyond 2 % shown of "
            "baseline single "
        )
        + SEEN,
        found.output.splitlines()[-1],
    )


def test_nothing_but_instruments_in_both_is_a_comparison(of_instruments: dict[str, RunEvidence]) -> None:
    of_instruments["first"], of_instruments["second"] = (carried(25.0, run_id=n) for n in ("a", "b"))
    content = told("first", "second")
    assert content["changes"] == []
    assert [p["phase"] for p in content["phases"][0]["phases"]] == ["draft", "verify", "extend"]


def test_an_arm_that_one_run_did_not_time_says_which(of_instruments: dict[str, RunEvidence]) -> None:
    of_instruments["first"] = carried(25.0, *controls(), run_id="first")
    of_instruments["second"] = carried(25.0, *controls(), eagle3(RATES), run_id="second")
    found = tokgate("first", "second")
    assert (
        "not compared: eagle3-2step: its speed: only second timed it, first carried instruments alone (-m verify)"
        in found.output
    )
    assert "phases by probe" in found.output


def test_instruments_that_left_a_workload_out_say_so(tmp_path: Path) -> None:
    rig = make_rig(instruments={"workloads": ["single"]})
    runs = [write_run(tmp_path / n, carrying(table(*whole())), rig=rig) for n in ("first", "second")]
    found = tokgate(*map(str, runs))
    assert "not compared: eagle3-2step pair: first: 05-eagle3-2step-phases did not take pair" in found.output


def test_a_phase_with_two_modes_moves_in_the_mean(of_instruments: dict[str, RunEvidence]) -> None:
    """Every third call of verify is long now, where every tenth was: the middle call is the same."""
    for name, mean in (("first", 25.0), ("second", 27.0)):
        run = carried(25.0, run_id=name)
        (launch,) = run.launches
        assert launch.phases is not None
        readings = tuple(
            r.model_copy(
                update={
                    "mean_ms": mean,
                    "starts": tuple(
                        s.model_copy(update={"mean_ms": mean * (1 + s.batch / 1000)}) for s in r.starts
                    ),
                }
            )
            if r.phase is Phase.VERIFY
            else r
            for r in launch.phases.readings
        )
        told = launch.phases.model_copy(update={"readings": readings})
        of_instruments[name] = run.model_copy(
            update={"launches": (launch.model_copy(update={"phases": told}),)}
        )
    found = tokgate("first", "second")
    assert found.exit_code == 0, found.output
    lines = found.output.splitlines()
    (middle,) = (n for n, line in enumerate(lines) if line.split()[:1] == ["verify"])
    assert lines[middle].split()[1] == "0.0"
    assert lines[middle].endswith("ms p50")
    assert lines[middle + 1].split()[0] == "+8.0"
    assert lines[middle + 1].endswith("ms mean")
    assert lines[-1] == (
        "B against A: eagle3-2step single verify +8.0 % a call in the mean, +0.0 % in the middle one, tok/s not timed"
    )
