from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.baseline_checkout import ONE, Checkout, write_run
from tests.verdicts.evidence import STEADY, controls, eagle3, make_launch, make_rig
from tokgate.records import Outcome, Verdict
from tokgate.verdicts.baselines.lock import writing


def test_store_show_compare(checkout: Checkout) -> None:
    first = checkout.run("first", *controls(), eagle3())
    stored = checkout.tokgate("update", first, "--why", "the first that counts", "--who", "ada")

    assert stored.exit_code == 0, stored.output
    assert "single on baseline: baselines/small/" in stored.output
    assert "(new)" in stored.output
    assert "  decode_tok_s: 59.8 tok/s (n=6), new" in stored.output

    shown = checkout.tokgate("show", "small")
    assert shown.exit_code == 0
    assert "single on baseline, 2 server runs" in shown.output
    assert "by ada: the first that counts" in shown.output
    assert "args.tp_size = 2" in shown.output

    slower = tuple(v * 0.9 for v in STEADY)
    second = checkout.run("second", *controls(slower, slower), eagle3())
    compared = checkout.tokgate("diff", second)
    assert compared.exit_code == 0
    assert "01-baseline, 04-baseline-again single: against baselines/small/" in compared.output
    assert " decode 40.1 tok/s on baseline: -10.0%" in compared.output
    assert "baseline 44.6" in compared.output
    assert "02-eagle3-2step single: against baselines/small/" in compared.output


def test_storing_again_shows_what_changes_and_keeps_the_history(checkout: Checkout) -> None:
    checkout.tokgate("update", *(checkout.run(name, *controls()) for name in "abc"), "--why", "first")
    faster = tuple(v * 1.1 for v in STEADY)
    runs = [checkout.run(name, *controls(faster, faster)) for name in ("second", "third", "fourth")]
    again = checkout.tokgate("update", *runs, "--why", "faster kernels")

    assert "(replaced)" in again.output
    assert "decode_tok_s: 49.1 tok/s (n=36), was 44.6 tok/s (n=36), +10.0%, interval " in again.output
    assert "1 earlier versions" in checkout.tokgate("show", "small").output


def test_appending_says_so(checkout: Checkout) -> None:
    checkout.tokgate("update", checkout.run("first", *controls()), "--why", "first")
    again = checkout.tokgate(
        "update", checkout.run("second", *controls()), "--why", "more restarts", "--append"
    )

    assert "(extended)" in again.output
    assert "4 server runs" in checkout.tokgate("show", "small").output


def test_two_that_append_at_once_lose_nothing(checkout: Checkout) -> None:
    """Both read, add and write: both wait until nobody else does, and read only then."""
    checkout.tokgate("update", checkout.run("first", *controls()), "--why", "first")
    (checkout.root / "rigs").mkdir()
    program = "from tokgate.cli.main import main; main()"
    told = [sys.executable, "-c", program, "--root", str(checkout.root), "baseline", "update"]
    commands = []
    with writing(checkout.root):
        for name in ("second", "third"):
            run = checkout.run(name, *controls())
            commands.append(
                subprocess.Popen(
                    [*told, run, "--why", name, "--append"],
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
            stderr = commands[-1].stderr
            assert stderr is not None
            assert "another command is writing baselines here" in stderr.readline()
    for command in commands:
        assert command.communicate()[1] == ""
        assert command.returncode == 0

    (path,) = (path for path in checkout.files() if path.suffix == ".json")
    sessions = {launch["run_id"] for launch in json.loads(path.read_text())["launches"]}
    assert sessions == {"first", "second", "third"}
    assert not list(checkout.root.glob(".*"))


def test_an_invalid_run_is_refused_and_nothing_is_written(checkout: Checkout) -> None:
    broken = eagle3().model_copy(update={"generations": ()})
    refused = checkout.tokgate("update", checkout.run("bad", *controls(), broken), "--why", "hope")

    assert refused.exit_code == 4
    assert "tried: store run bad as baseline" in refused.stderr
    assert "found: the run is invalid: cache_state on 02-eagle3-2step" in refused.stderr
    assert "do:" in refused.stderr
    assert checkout.files() == []


def test_a_reason_is_demanded(checkout: Checkout) -> None:
    run = checkout.run("first", *controls())

    assert checkout.tokgate("update", run).exit_code == 4
    assert checkout.tokgate("update", run, "--why", " ").exit_code == 4


def test_a_run_that_was_still_moving_is_not_stored_however_asked(checkout: Checkout) -> None:
    falling = (100.0, 98.0, 96.0, 94.0, 92.0, 90.0)
    run = checkout.run("first", controls(falling)[0])

    refused = checkout.tokgate("update", run, "--why", "first")
    assert refused.exit_code == 4
    assert "still moving" in refused.stderr
    assert checkout.tokgate("update", run, "--why", "first", "--despite-doubts").exit_code == 4


def test_without_a_baseline_the_command_that_stores_one_is_told(checkout: Checkout) -> None:
    run = checkout.run("first", controls()[0])
    compared = checkout.tokgate("diff", run)

    assert compared.exit_code == 0
    assert "which is not there" in compared.output
    assert f'tokgate baseline update {run} --arm baseline --why "…"' in compared.output


def test_settings_that_differ_from_the_nearest_are_listed(checkout: Checkout) -> None:
    checkout.tokgate("update", checkout.run("first", *controls()), "--why", "first")
    longer = [{**ONE[0], "cache": "unique"}]
    other = write_run(checkout.root / "reports/other", controls()[0], rig=make_rig(workloads=longer))
    compared = checkout.tokgate("diff", str(other))

    assert "no-baseline" in compared.output
    assert "workload.cache: flush -> unique" in compared.output


def test_nothing_stored_is_an_error_with_a_next_step(checkout: Checkout) -> None:
    shown = checkout.tokgate("show", "small")

    assert shown.exit_code == 4
    assert "no file in baselines/small" in shown.stderr


def test_a_corrupt_baseline_is_an_error_after_the_others_were_shown(checkout: Checkout) -> None:
    checkout.tokgate("update", checkout.run("first", *controls(), eagle3()), "--why", "first")
    spoiled = checkout.files()[-1]
    spoiled.write_text("{")
    shown = checkout.tokgate("show", "small")

    assert shown.exit_code == 4
    assert "2 server runs" in shown.output or "1 server runs" in shown.output
    assert spoiled.name in shown.stderr
    assert checkout.tokgate("diff", str(checkout.root / "reports/first")).exit_code == 4


@pytest.mark.parametrize("command", ["update", "diff"])
def test_a_folder_that_is_no_run_is_an_error(checkout: Checkout, command: str) -> None:
    extra = ("--why", "x") if command == "update" else ()

    assert checkout.tokgate(command, str(checkout.root), *extra).exit_code == 4


def test_a_hostile_reason_cannot_move_the_cursor(checkout: Checkout) -> None:
    run = checkout.run("first", *controls())
    checkout.tokgate("update", run, "--why", "fine\x1b[2J\x1b[31mred")

    assert "\x1b" not in checkout.tokgate("show", "small").output


def test_a_rig_name_leads_nowhere_else(checkout: Checkout) -> None:
    assert checkout.tokgate("show", "../reports").exit_code == 4


REGRESSED = Verdict(
    check="decode_throughput",
    outcome=Outcome.REGRESSED,
    headline="decode 44.6 tok/s on baseline: below the floor\x1b[2J",
    arm="baseline",
    launch="01-baseline",
)


def test_a_run_that_ended_regressed_is_stored_knowingly_or_not_at_all(checkout: Checkout) -> None:
    run = Path(checkout.run("slow", *controls()))
    (run / "verdicts.json").write_text(f"[{REGRESSED.model_dump_json()}]")

    refused = checkout.tokgate("update", str(run), "--why", "first")
    assert refused.exit_code == 4
    assert "decode_throughput regressed: decode 44.6 tok/s on baseline: below the floor" in refused.stderr
    assert "--despite-doubts" in refused.stderr
    assert "\x1b" not in refused.stderr
    assert checkout.files() == []

    stored = checkout.tokgate("update", str(run), "--why", "first", "--despite-doubts")
    assert stored.exit_code == 0
    assert "doubt: decode_throughput regressed: decode 44.6 tok/s" in stored.output


def test_a_reader_that_goes_away_costs_no_file(checkout: Checkout) -> None:
    """`tokgate baseline update … | head -1`: the pipe is closed before the first line is printed."""
    (checkout.root / "rigs").mkdir()
    run = checkout.run("first", *controls(), eagle3())
    read, write = os.pipe()
    os.close(read)
    program = "from tokgate.cli.main import main; main()"
    asked = ["--root", str(checkout.root), "baseline", "update", run, "--why", "first"]
    command = [sys.executable, "-c", program, *asked]
    try:
        ended = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False, text=True)
    finally:
        os.close(write)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert len([path for path in checkout.files() if path.suffix == ".json"]) == 2


def test_launches_that_stand_for_no_arm_are_compared_with_nothing(checkout: Checkout) -> None:
    checkout.tokgate("update", checkout.run("first", *controls()), "--why", "first")
    proof = make_launch((), id="00-nccl-proof", role="nccl-proof")
    off = make_launch(id="05-nccl-off", role="nccl-off")

    compared = checkout.tokgate("diff", checkout.run("second", proof, *controls(), off)).output
    assert "nccl" not in compared
    assert "01-baseline, 04-baseline-again single: against" in compared
    assert "invalid" not in compared
    alone = checkout.tokgate("diff", checkout.run("third", proof))
    assert "stands for an arm: there is nothing to compare" in alone.output


def test_an_expired_baseline_is_shown_as_such(checkout: Checkout) -> None:
    checkout.tokgate("update", checkout.run("first", *controls()), "--why", "first")
    assert "expired" not in checkout.tokgate("show", "small").output
    (path,) = (path for path in checkout.files() if path.suffix == ".json")
    when = json.loads(path.read_text())["provenance"]["when"]
    path.write_text(path.read_text().replace(when, "2020-01-01T00:00:00+00:00"))

    assert "it has expired, " in checkout.tokgate("show", "small").output


def test_a_file_of_an_earlier_tokgate_is_shown_and_appended_to(checkout: Checkout) -> None:
    checkout.tokgate("update", checkout.run("first", *controls()), "--why", "first")
    (path,) = (path for path in checkout.files() if path.suffix == ".json")
    written = json.loads(path.read_text())
    for key in ("anchor", "accepted"):
        del written[key]
    for key in ("sglang_commit", "sglang_tree", "despite"):
        del written["provenance"][key]
    path.write_text(json.dumps(written))

    shown = checkout.tokgate("show", "small")
    assert shown.exit_code == 0
    assert f"44.6 of {written['provenance']['when'][:10]}" in shown.output
    assert checkout.tokgate("update", checkout.run("b", *controls()), "--why", "x", "--append").exit_code == 0
    assert json.loads(path.read_text())["anchor"]["decode_tok_s"]["session_ids"] == ["first"]


def test_more_sessions_are_replaced_by_fewer_knowingly_or_not_at_all(checkout: Checkout) -> None:
    checkout.tokgate("update", *(checkout.run(name, *controls()) for name in "abc"), "--why", "first")
    (path,) = (path for path in checkout.files() if path.suffix == ".json")
    before = path.read_bytes()
    one = checkout.run("one", *controls())

    refused = checkout.tokgate("update", one, "--why", "new")
    assert refused.exit_code == 4
    assert "tried: store run one as baseline" in refused.stderr
    assert "single on baseline: 6 server runs in 3 sessions -> 2 server runs in 1 session" in refused.stderr
    assert "--append" in refused.stderr
    assert "--replace" in refused.stderr
    assert checkout.tokgate("propose", one, "--why", "new").exit_code == 4
    assert path.read_bytes() == before

    assert checkout.tokgate("update", one, "--why", "new", "--append", "--replace").exit_code == 4
    told = checkout.tokgate("update", one, "--why", "new", "--replace")
    assert told.exit_code == 0
    assert "6 server runs in 3 sessions -> 2 server runs in 1 session" in told.output
    assert {x["run_id"] for x in json.loads(path.read_text())["launches"]} == {"one"}


def test_what_a_baseline_leaves_to_a_prior_is_said_of_each_level(checkout: Checkout) -> None:
    runs = [checkout.run(name, *controls(), eagle3()) for name in ("a", "b", "c")]

    one = checkout.tokgate("propose", runs[0], "--why", "first").output
    assert (
        "  2 server runs in 1 session: how far sessions differ is left to a prior (3 of them tell it)\n"
        in one
    )
    three = checkout.tokgate("update", *runs, "--why", "first").output
    assert three.count("left to a prior") == 1  # each session has two runs of the control
    assert (
        "  3 server runs in 3 sessions: how far server runs within a session differ is left to a prior "
        "(2 in each tell it: sampling.least_restarts = 1)\n"
    ) in three
