"""What the person can mend before any server starts: pytest's exit code 4, and what to write instead."""

from __future__ import annotations

import pytest

from .checkout import RIG, Checkout, GateRun
from .machine import Machine

pytestmark = pytest.mark.xdist_group("gate")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    # Nothing is ever started here, so it needs no machine of its own.
    return Checkout(tmp_path_factory.mktemp("usage"), Machine([]), {"eagle3": ""})


def nothing_was_launched(run: GateRun) -> bool:
    return not run.checkout.servers() and not list(run.checkout.root.glob("reports/*/launches"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--rig", "standing"], 'use "standin", the nearest name'),
        (["--rig-set", "server.args.tp_sise.x=2"], "server.args.tp_sise"),
        (["--rig-set", "server.start_timeot_s=2"], "start_timeout_s"),
        (["--rejudge", "perf_tests"], "no run.json in it"),
        (["--rejudge", "nowhere"], "no such folder"),
    ],
)
def test_wrong_usage(checkout: Checkout, arguments: list[str], told: str) -> None:
    rig = [] if "--rejudge" in arguments or "--rig" in arguments else ["--rig", str(checkout.rig)]
    code, said = checkout.run("pytest", "perf_tests", *rig, *arguments)
    assert code == 4, said
    assert told in said
    assert "do:" in said


def test_a_corrupt_baseline_is_found_before_any_launch(checkout: Checkout) -> None:
    stored = checkout.root / "baselines" / RIG
    stored.mkdir(parents=True)
    (stored / "0123456789ab.json").write_text('{"schema_number": 1')
    try:
        code, said = checkout.run("pytest", "perf_tests", "--rig", RIG)
    finally:
        (stored / "0123456789ab.json").unlink()
    assert code == 4, said
    assert "0123456789ab.json" in said
    assert "do:" in said
    assert not checkout.servers()


@pytest.mark.parametrize("selection", [("-k", "no_such_promise"), ("-m", "nccl")])
def test_an_empty_run_is_not_green(checkout: Checkout, selection: tuple[str, str]) -> None:
    run = checkout.gate(selection=selection)
    assert run.code == 5, run.said
    assert run.outcome == "invalid"
    assert "no test was selected" in run.said
    assert nothing_was_launched(run)
