from __future__ import annotations

from tests.verdicts.evidence import eagle3, make_launch, make_rig
from tokgate.records import CleanSlate, Finding, Outcome, VariableState
from tokgate.verdicts.checks.environment_truth import environment_truth

RIG = make_rig()


def test_a_proven_server_passes_twice() -> None:
    environment, arguments = environment_truth(RIG, eagle3())

    assert environment.headline == "environment of 02-eagle3-2step: 2 variables present in 3 processes"
    assert arguments.headline == ("arguments of 02-eagle3-2step: the server runs with all 7 that it tells of")
    assert {environment.outcome, arguments.outcome} == {Outcome.PASS}


def test_without_a_server_the_machine_that_kept_it_from_starting_is_named_with_its_own_next_step() -> None:
    held = Finding(severity="unclean", what="GPU 3: 1894 MiB are allocated", do="ask its owner")
    slate = CleanSlate(when="before 01-baseline", host="local", findings=(held,))
    for verdict in environment_truth(RIG, make_launch(server=None, slate=slate)):
        assert verdict.outcome is Outcome.INVALID
        assert "no server was started: GPU 3: 1894 MiB are allocated" in verdict.headline
        assert verdict.do == "ask its owner"


def test_every_process_without_the_variable_is_named() -> None:
    launch = make_launch()
    assert launch.environment is not None
    rows = tuple(
        r.model_copy(update={"state": VariableState.ABSENT, "found": None})
        if r.variable == "NCCL_ALGO"
        else r
        for r in launch.environment.rows
    )
    broken = launch.model_copy(update={"environment": launch.environment.model_copy(update={"rows": rows})})
    verdict, _ = environment_truth(RIG, broken)

    assert verdict.outcome is Outcome.INVALID
    assert "NCCL_ALGO absent from main (pid 100)" in verdict.headline
    assert "NCCL_ALGO absent from scheduler TP1 (pid 102)" in verdict.evidence


def test_strays_and_overwritten_variables_are_warnings() -> None:
    launch = make_launch()
    assert launch.environment is not None
    truth = launch.environment.model_copy(
        update={
            "strays": {"LD_PRELOAD": "/x.so"},
            "overwritten": {"NCCL_ALGO": "set in engine.py", "NCCL_NEVER_ASKED": "set in engine.py"},
        }
    )
    verdict, _ = environment_truth(RIG, launch.model_copy(update={"environment": truth}))

    assert verdict.outcome is Outcome.PASS
    assert verdict.warnings == (
        "NCCL_ALGO=Ring is overwritten by SGLang itself: set in engine.py",
        "nobody asked for it, but the server has it: LD_PRELOAD=/x.so",
    )


def test_an_eagle3_arm_without_speculation_is_invalid() -> None:
    _, verdict = environment_truth(RIG, eagle3(server_info={"speculative_algorithm": None}))

    assert verdict.outcome is Outcome.INVALID
    assert "does no speculation" in verdict.headline
    assert verdict.do


def test_a_server_that_tells_nothing_of_itself_proves_nothing() -> None:
    launch = eagle3()
    assert launch.server is not None
    silent = launch.model_copy(update={"server": launch.server.model_copy(update={"server_info": {}})})
    _, verdict = environment_truth(RIG, silent)

    assert verdict.outcome is Outcome.INVALID
    assert "told none of its arguments" in verdict.headline


def test_a_variable_that_is_there_and_ignored_is_told() -> None:
    """The environment is as wanted, which is all this check proves: what NCCL makes of it is a warning."""
    launch = make_launch()
    assert launch.environment is not None
    (name, *_) = {r.variable for r in launch.environment.rows if r.variable == "NCCL_ALGO"}
    nccl = {**RIG.server.nccl, name: "^ring"}
    rig = RIG.model_copy(update={"server": RIG.server.model_copy(update={"nccl": nccl})})
    verdict, _ = environment_truth(rig, launch)
    assert any(w.startswith("present is not obeyed: NCCL_ALGO=^ring: ") for w in verdict.warnings)
    assert not any(w.startswith("present is not obeyed") for w in environment_truth(RIG, launch)[0].warnings)
