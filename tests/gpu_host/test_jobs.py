"""A job is cut into steps that fit a call: the whole gate, else parts of it, else arm by arm."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from host_install import Installed
from jobs import steps_of
from ledger import Step
from planted import FAULTS, disturbed, disturber, planted_steps

from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.session.sweep_plan import sweep_launches
from tokgate.verdicts.baselines.identity import identity_of

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


def test_a_slower_verify_has_the_identity_of_a_healthy_server(rig: Rig) -> None:
    """So it is compared with the stored baseline: no argument and no variable of rig or arm differs, as with a patch of SGLang."""
    (step,) = planted_steps(("verify-2",), rig, RIG)
    sets = [step.words[at + 1] for at, word in enumerate(step.words) if word == "--rig-set"]
    slower = load_rig("h200", root=ROOT, overrides=sets)
    arm, workload = rig.arm("eagle3-2step-pinned"), rig.workloads[0]
    version: dict[str, Any] = {"sglang_version": "0.5.16", "gpu_names": ["NVIDIA H200"]}
    assert identity_of(slower, slower.arm(arm.name), workload, **version) == identity_of(
        rig, arm, workload, **version
    )
    assert slower.server.python != rig.server.python
    assert "07-eagle3-2step-pinned-phases" in step.words[step.words.index("-k") + 1]


def test_of_several_gpus_one_in_the_middle_is_at_fault(tmp_path: Path) -> None:
    """GPU 3 of eight holds memory or is loaded, and rank 3 alone is slower: the gate has to name it."""
    eight = load_rig("h200x8", root=ROOT)
    (leftover, slower) = planted_steps(("leftover", "rank-slower"), eight, RIG)

    command = disturber(leftover, tmp_path, eight, sys.executable)
    assert command is not None
    assert command[-1] == "3"
    (python,) = [word for word in slower.words if word.startswith("server.python=")]
    assert python.endswith("python3-verify-20-rank-3")


def test_two_faults_of_two_arms_are_one_session(rig: Rig) -> None:
    (step,) = planted_steps(("acceptance+eager",), rig, RIG)
    chosen = step.words[step.words.index("-k") + 1].split(" or ")
    assert {"01-baseline", "02-eagle3-2step", "03-eagle3-2step-pinned", "05-baseline-again"} <= set(chosen)
    assert any(word.startswith("arms.eagle3-2step.draft_model_path=") for word in step.words)
    assert "arms.eagle3-2step-pinned.args.disable_cuda_graph=true" in step.words


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("eager+eager", "both in the arm"),
        ("acceptance+leftover", "of the whole machine"),
        ("acceptance+verify-5", "of the whole machine"),
    ],
)
def test_two_faults_that_would_not_be_told_apart_are_refused(
    words: str, why: str, rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        planted_steps((words,), rig, RIG)
    assert why in capsys.readouterr().err


def test_an_unknown_fault_is_told_with_those_there_are(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        planted_steps(("eagre",), rig, RIG)
    told = capsys.readouterr().err
    assert "eagre" in told
    assert ", ".join(name for name in FAULTS if name not in ("nccl-dropped", "rank-slower")) in told


def test_the_weaker_drafter_is_planted_where_acceptance_is_natural(rig: Rig) -> None:
    (step,) = planted_steps(("acceptance",), rig, RIG)
    assert any(word.startswith("arms.eagle3-2step.draft_model_path=") for word in step.words)


def test_a_step_too_many_is_planted_into_the_arm_that_a_sweep_varies(rig: Rig) -> None:
    (step,) = planted_steps(("three-steps",), rig, RIG)
    assert step.words[:3] == ("perf_tests", "-m", "sweep")
    sets = [value for word, value in pairwise(step.words) if word == "--rig-set"]
    broken = load_rig(rig.name, root=ROOT, overrides=sets)
    assert broken.sweep is not None
    assert broken.sweep.num_steps == (2, 3)
    assert broken.arm(broken.sweep.arm).num_steps == 3
    assert step.starts == len(sweep_launches(broken))


def test_patches_are_measured_in_the_order_in_which_they_are_named(rig: Rig) -> None:
    (step,) = steps_of("culprit", ("comment", "verify-2"), rig, RIG, lambda _: True)
    named = [word for word in step.words if word.endswith(".patch")]
    assert [Path(name).stem for name in named] == ["comment", "verify-2"]
    assert all(Path(name).is_file() for name in named)
    assert "--culprit" in step.words
    (alone,) = steps_of("patch", ("verify-2",), rig, RIG, lambda _: True)
    assert "--culprit" not in alone.words


def test_a_patch_that_the_bundle_has_not_is_refused_with_those_it_has(
    rig: Rig, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        steps_of("patch", ("verify-3",), rig, RIG, lambda _: True)
    assert "comment, log-line, verify-1, verify-2, verify-5" in capsys.readouterr().err


def test_the_doctor_looks_and_starts_nothing(rig: Rig) -> None:
    steps = steps_of("doctor", (), rig, RIG, lambda _: True)
    assert [(step.tool, step.starts) for step in steps] == [("look", 0), ("look", 0)]
    assert steps[0].words == ("doctor", "--rig", "h200")
    assert rig.server.python in steps[1].words


@pytest.mark.parametrize(
    ("does", "told"), [("print('done', flush=True)", False), ("raise SystemExit('no server')", True)]
)
def test_a_fault_that_was_not_planted_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], does: str, told: bool
) -> None:
    """A gate that then passes missed nothing: there was nothing."""
    script = tmp_path / "disturb.py"
    script.write_text(f"print('there', flush=True); {does}")
    step = Step("planted-server-killed", "pytest", ())
    command = [sys.executable, str(script), "kill", str(tmp_path)]
    with disturbed(step, command, Installed(tmp_path)) as process:
        assert process is not None
        process.wait()
    assert ("the fault was not planted" in capsys.readouterr().out) is told


def test_a_disturber_that_cannot_begin_ends_the_call_with_its_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = Step("planted-leftover", "pytest", ())
    command = [sys.executable, "-c", "raise SystemExit('no torch')", "hold"]
    with pytest.raises(SystemExit), disturbed(step, command, Installed(tmp_path)):
        pytest.fail("there is nothing to measure")
    assert "it ended with 1" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["foreign-load", "server-killed"])
def test_who_disturbs_waits_for_the_arm_that_is_launched(name: str, rig: Rig, tmp_path: Path) -> None:
    """The session starts one arm of several, and the launch has the number that the arm has in the rig."""
    (step,) = planted_steps((name,), rig, RIG)
    command = disturber(step, tmp_path, rig, sys.executable)
    assert command is not None
    launch = command[4]
    assert launch in step.words[step.words.index("-k") + 1].split(" or ")
    assert launch == "03-eagle3-2step-pinned"


def test_a_session_that_no_leftover_lets_begin_is_reckoned_without_starts(rig: Rig) -> None:
    (step,) = planted_steps(("leftover",), rig, RIG)
    assert step.starts == 0


@pytest.mark.parametrize(
    ("job", "do"),
    [
        ("visit", "clients,captures,killed"),
        ("clients", "clients"),
        ("captures", "captures"),
        ("killed", "killed"),
    ],
)
def test_a_visit_is_a_step_an_arm(job: str, do: str, rig: Rig) -> None:
    steps = steps_of(job, (), rig, RIG, lambda _: True)
    assert [step.name for step in steps] == [f"{job}-{arm.name}" for arm in rig.arms]
    assert all(step.words[step.words.index("--do") + 1] == do for step in steps)
    (one,) = steps_of(job, ("baseline",), rig, RIG, lambda _: True)
    assert one.words[-2:] == RIG


def test_an_arm_that_the_rig_has_not_cannot_be_visited(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        steps_of("clients", ("eagle",), rig, RIG, lambda _: True)
    assert "eagle3-2step-pinned" in capsys.readouterr().err


@pytest.mark.parametrize("gpus", [4, 8])
def test_the_rigs_of_more_gpus_are_planned_as_those_of_two(gpus: int) -> None:
    rig = load_rig(f"h200x{gpus}", root=ROOT)
    assert rig.gpus.count == rig.server.args["tp_size"] == gpus
    steps = steps_of("gate", (), rig, ("--rig", rig.name), lambda step: step.name != "gate")
    assert selections(steps) == ["eagle3 and not verify and not nccl", "nccl", "verify"]
    assert [step.name for step in planted_steps(("all",), rig, ("--rig", rig.name))] == [
        f"planted-{name}" for name in FAULTS
    ]
