"""A job is cut into steps that fit a call: the whole gate, else parts of it, else arm by arm."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from jobs import steps_of
from ledger import Step
from planted import FAULTS, disturbed, planted_steps

from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig

ROOT = Path(__file__).parents[2]
RIG = ("--rig", "h200")  # as a user names it


@pytest.fixture(scope="module")
def rig() -> Rig:
    return load_rig("h200", root=ROOT)


@pytest.fixture(scope="module")
def two_gpus() -> Rig:
    return load_rig("h200x2", root=ROOT)


def selections(steps: tuple[Step, ...]) -> list[str]:
    return [step.words[step.words.index("-m") + 1] for step in steps]


def test_a_gate_that_fits_is_one_step(rig: Rig) -> None:
    assert selections(steps_of("gate", (), rig, RIG, lambda _: True)) == ["eagle3"]


def test_where_nccl_matters_the_launch_without_its_block_belongs_to_the_gate(two_gpus: Rig) -> None:
    assert selections(steps_of("gate", (), two_gpus, RIG, lambda _: True)) == ["eagle3 or nccl"]


def test_a_gate_that_does_not_fit_is_cut_and_loses_no_test(two_gpus: Rig) -> None:
    steps = steps_of("gate", (), two_gpus, RIG, lambda step: step.name != "gate")
    assert selections(steps) == ["eagle3 and not verify and not nccl", "nccl", "verify"]


def test_speed_that_does_not_fit_is_cut_by_arms_with_the_controls_in_each(rig: Rig) -> None:
    steps = steps_of("gate", (), rig, RIG, lambda _: False)
    assert [step.name for step in steps] == [
        "speed-eagle3-2step",
        "speed-eagle3-2step-pinned",
        "speed-eagle3-3step-pinned",
        "phases",
    ]
    for step in steps[:3]:
        chosen = step.words[step.words.index("-k") + 1]
        assert "01-baseline or 05-baseline-again" in chosen
        assert chosen.count("-eagle3-") == 1


def test_sessions_are_counted(rig: Rig) -> None:
    steps = steps_of("aa", ("3",), rig, (*RIG, "--rig-set", "instruments.skip=time"), lambda _: True)
    assert [step.name for step in steps] == ["aa-1", "aa-2", "aa-3"]
    assert all(step.words[-2:] == ("--rig-set", "instruments.skip=time") for step in steps)


@pytest.mark.parametrize("words", [(), ("0",), ("many",), ("3", "4"), ("-1",)])
def test_no_number_of_sessions_is_no_job(
    rig: Rig, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        steps_of("baselines", words, rig, RIG, lambda _: True)
    assert "baselines 5" in capsys.readouterr().err


def test_a_planted_fault_is_a_session_of_its_arm_between_controls(rig: Rig) -> None:
    (step,) = planted_steps(("eager",), rig, RIG)
    assert "arms.eagle3-2step-pinned.args.disable_cuda_graph=true" in step.words
    assert "03-eagle3-2step-pinned" in step.words[step.words.index("-k") + 1]


def test_every_fault_makes_a_rig_that_loads(rig: Rig, two_gpus: Rig) -> None:
    planted = {one.name: planted_steps(("all",), one, RIG) for one in (rig, two_gpus)}
    assert {step.name for steps in planted.values() for step in steps} == {
        f"planted-{name}" for name in FAULTS
    }
    for one in (rig, two_gpus):
        for step in planted[one.name]:
            sets = [step.words[at + 1] for at, word in enumerate(step.words) if word == "--rig-set"]
            load_rig(one.name, root=ROOT, overrides=sets)


def test_a_slower_verify_keeps_what_the_server_needs_on_its_path(rig: Rig) -> None:
    (step,) = planted_steps(("verify-2",), rig, RIG)
    (path,) = [word for word in step.words if ".environment.PYTHONPATH=" in word]
    assert path.split("=")[1].split(":") == [
        f"{ROOT}/plant",
        *rig.server.environment["PYTHONPATH"].split(":"),
    ]


def test_an_unknown_fault_is_told_with_those_there_are(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        planted_steps(("eagre",), rig, RIG)
    told = capsys.readouterr().err
    assert "eagre" in told
    assert ", ".join(name for name in FAULTS if name != "nccl-dropped") in told


def test_the_weaker_drafter_is_planted_where_acceptance_is_natural(rig: Rig) -> None:
    (step,) = planted_steps(("acceptance",), rig, RIG)
    assert any(word.startswith("arms.eagle3-2step.draft_model_path=") for word in step.words)


@pytest.mark.parametrize(("ends_with", "told"), [(0, False), (1, True)])
def test_a_fault_that_was_not_planted_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ends_with: int, told: bool
) -> None:
    """A gate that then passes missed nothing: there was nothing."""
    script = tmp_path / "disturb.py"
    script.write_text(f"print('there', flush=True); input(); raise SystemExit({ends_with})")
    step = Step("planted-server-killed", "pytest", ())
    with disturbed(step, tmp_path, sys.executable, script) as process:
        assert process is not None
        process.communicate(b"\n")
    assert ("the fault was not planted" in capsys.readouterr().out) is told
