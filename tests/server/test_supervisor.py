"""The supervisor by itself: real processes, real signals, its own line protocol."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.server.hand import Hand, lives, wait_for
from tokgate.server import host_probe, supervisor

FOREVER = "exec sleep 300"
DEAF = "trap '' TERM; echo deaf; while :; do sleep 0.05; done"


def pids_in(log: Path, count: int) -> list[int]:
    wait_for(lambda: log.exists() and len(log.read_text().split()) >= count)
    return [int(word) for word in log.read_text().split()]


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """Somebody else's process that looks exactly like a worker of SGLang."""
    with subprocess.Popen(["sglang::scheduler_TP0", "300"], executable="/bin/sleep") as process:
        yield process
        process.kill()


def test_the_server_gets_a_session_of_its_own_and_exactly_the_environment_given(hand: Hand) -> None:
    line = "NCCL_PROTO=LL env; exec cat"  # cat would wait on any stdin but an empty one
    started = hand.order(line, environment={"PATH": os.defpath, "ONLY": "this one"})
    exited = hand.hear_of("exited")
    seen = dict(entry.split("=", 1) for entry in hand.log.read_text().splitlines())
    added_by_sh = {"PWD", "OLDPWD", "SHLVL", "_"}
    assert {k: v for k, v in seen.items() if k not in added_by_sh} == {
        "PATH": os.defpath,
        "ONLY": "this one",
        "NCCL_PROTO": "LL",
    }
    assert exited["rc"] == 0
    assert started["sid"] == started["pid"] != os.getsid(0)


def test_what_the_shell_itself_says_is_in_the_log(hand: Hand) -> None:
    hand.order("/nowhere/python -m sglang.launch_server")
    assert hand.hear_of("exited")["rc"] == 127
    assert "/nowhere/python" in hand.log.read_text()


def test_a_death_by_signal_is_told_as_such(hand: Hand) -> None:
    hand.order("kill -9 $$")
    assert (hand.hear_of("exited")["signal"], hand.said[-1]["rc"]) == (9, None)


def test_an_unwritable_log_is_an_answer_of_its_own(hand: Hand) -> None:
    answer = hand.order(FOREVER, log="/proc/nowhere/server.log")
    assert (answer["event"], answer["why"]) == ("refused", "log-not-writable")
    assert hand.process.wait(10) == 2


def test_an_order_that_lacks_something_is_refused(hand: Hand) -> None:
    hand.tell({"line": FOREVER})
    answer = hand.hear()
    assert (answer["why"], answer["detail"]) == ("bad-order", "KeyError('environment')")


def test_it_tells_whether_the_server_lives_and_how_far_the_log_has_grown(hand: Hand) -> None:
    hand.order("echo 12345; read stop < fifo", cwd=str(make_fifo(hand.folder)))
    wait_for(lambda: hand.log.stat().st_size)
    hand.tell({"state": 7})
    assert hand.hear_of("state") == {"event": "state", "state": 7, "alive": True, "log_bytes": 6}
    (hand.folder / "fifo").write_text("now\n")
    hand.hear_of("exited")
    hand.tell({"state": 8})
    assert hand.hear_of("state") == {"event": "state", "state": 8, "alive": False, "log_bytes": 6}


def make_fifo(folder: Path) -> Path:
    os.mkfifo(folder / "fifo")
    return folder


def test_an_obedient_server_is_not_killed(hand: Hand) -> None:
    pid = hand.order(FOREVER)["pid"]
    stopped = hand.stop()
    assert (stopped["asked"], stopped["killed"], stopped["signal"]) == ("term", False, signal.SIGTERM)
    assert stopped["survivors"] == []
    assert not lives(pid)


def test_a_server_deaf_to_term_is_killed_after_the_limit(hand: Hand) -> None:
    hand.order(DEAF, stop_timeout_s=0.5)
    wait_for(hand.log.read_text)
    stopped = hand.stop()
    assert (stopped["asked"], stopped["killed"], stopped["signal"]) == ("term", True, signal.SIGKILL)
    assert stopped["seconds"] >= 0.5


def test_a_stopped_server_is_woken_so_that_it_can_end(hand: Hand) -> None:
    pid = hand.order(FOREVER)["pid"]
    os.kill(pid, signal.SIGSTOP)
    stopped = hand.stop()
    assert (stopped["killed"], stopped["survivors"]) == (False, [])
    assert stopped["seconds"] < 5


def test_term_reaches_the_server_behind_a_shell_that_did_not_exec(hand: Hand) -> None:
    hand.order("sh -c 'trap \"echo heard; exit 0\" TERM; echo up; while :; do sleep 0.05; done'; echo after")
    wait_for(lambda: "up" in hand.log.read_text())
    stopped = hand.stop()
    assert not stopped["killed"]
    assert hand.log.read_text().split() == ["up", "heard", "after"]


def test_a_child_that_daemonised_is_found_and_ended(hand: Hand) -> None:
    line = "setsid -f sh -c 'echo $$; exec sleep 300'; echo $$; exec sleep 300"
    hand.order(line, children_timeout_s=0.5)
    leaked, main = sorted(pids_in(hand.log, 2), key=lambda pid: os.getsid(pid) == hand.said[0]["sid"])
    assert os.getsid(leaked) != os.getsid(main)
    stopped = hand.stop()
    assert (stopped["killed"], stopped["survivors"]) == (True, [])
    assert not lives(leaked)


def test_what_is_left_of_a_crash_is_ended_too(hand: Hand) -> None:
    hand.order("setsid -f sh -c 'echo $$; exec sleep 300'; exit 3")
    assert hand.hear_of("exited")["rc"] == 3
    (leaked,) = pids_in(hand.log, 1)
    assert lives(leaked)
    stopped = hand.stop()
    assert (stopped["asked"], stopped["killed"], stopped["rc"]) == ("none", True, 3)
    assert not lives(leaked)


def test_a_bystander_named_like_a_worker_is_left_alone(
    hand: Hand, bystander: subprocess.Popen[bytes]
) -> None:
    hand.order(DEAF, stop_timeout_s=0.1)
    wait_for(hand.log.read_text)
    assert hand.stop()["killed"]
    assert bystander.poll() is None


def test_the_end_of_stdin_ends_a_local_server(hand: Hand) -> None:
    pid = hand.order(FOREVER)["pid"]
    hand.stdin.close()
    assert hand.hear_of("stopped", limit_s=15)["reason"] == "gate-gone"
    assert not lives(pid)


def test_a_dead_gate_ends_a_local_server_even_while_someone_holds_the_pipe(hand: Hand) -> None:
    with subprocess.Popen(["sleep", "300"]) as gate:
        row = supervisor.read_row(gate.pid)
        assert row is not None
        hand.order(FOREVER, gate={"pid": row.pid, "start_ticks": row.start_ticks})
        hand.tell({"state": 1})
        assert hand.hear_of("state")["alive"]
        gate.kill()
        assert hand.hear_of("stopped", limit_s=15)["reason"] == "gate-gone"


def test_an_abandoned_server_is_not_given_the_time_to_drain(hand: Hand) -> None:
    hand.order(DEAF, stop_timeout_s=300)
    wait_for(hand.log.read_text)
    hand.stdin.close()
    assert hand.hear_of("stopped", limit_s=15)["killed"]


def test_over_ssh_a_dropped_connection_ends_nothing_before_the_limit(hand: Hand) -> None:
    pid = hand.order(FOREVER, heartbeat_limit_s=2)["pid"]
    hand.tell({"heartbeat": 1})
    hand.stdin.close()
    began = time.monotonic()
    assert hand.hear_of("stopped", limit_s=15)["reason"] == "heartbeat-missing"
    assert time.monotonic() - began >= 1.8
    assert not lives(pid)


def test_over_ssh_a_silent_gate_ends_the_server_at_the_limit(hand: Hand) -> None:
    hand.order(FOREVER, heartbeat_limit_s=1)
    assert hand.hear_of("stopped", limit_s=15)["reason"] == "heartbeat-missing"


def test_over_ssh_the_gate_can_come_back_through_the_folder(hand: Hand) -> None:
    pid = hand.order(FOREVER, heartbeat_limit_s=2)["pid"]
    hand.stdin.close()
    began = time.monotonic()
    while time.monotonic() < began + 4:  # twice the limit
        (hand.folder / "heartbeat").touch()
        assert lives(pid)
        time.sleep(0.2)
    (hand.folder / "stop").touch()
    assert hand.hear_of("stopped")["reason"] == "asked"
    events = (hand.folder / "events").read_text()
    assert '"started"' in events
    assert '"stopped"' in events


def test_the_time_limit_ends_the_server_whatever_happens(hand: Hand) -> None:
    hand.order(FOREVER, time_limit_s=0.5)
    assert hand.hear_of("stopped", limit_s=15)["reason"] == "time-limit"


def test_term_to_the_supervisor_ends_the_server_and_a_hangup_or_interrupt_does_not(hand: Hand) -> None:
    pid = hand.order(FOREVER)["pid"]
    hand.process.send_signal(signal.SIGHUP)
    hand.process.send_signal(signal.SIGINT)
    hand.tell({"state": 1})
    assert hand.hear_of("state")["alive"]
    hand.process.terminate()
    assert hand.hear_of("stopped", limit_s=15)["reason"] == "supervisor-terminated"
    assert not lives(pid)


def test_the_server_dies_with_a_supervisor_that_was_killed(hand: Hand) -> None:
    pid = hand.order(FOREVER)["pid"]
    hand.process.kill()
    wait_for(lambda: not lives(pid))


def test_ignored_signals_are_not_handed_down(hand: Hand) -> None:
    hand.order("grep SigIgn /proc/self/status")
    hand.hear_of("exited")
    ignored = int(hand.log.read_text().split()[1], 16)
    assert not ignored & (1 << (signal.SIGINT - 1) | 1 << (signal.SIGHUP - 1) | 1 << (signal.SIGPIPE - 1))


def test_a_line_that_is_no_message_is_told_and_survived(hand: Hand) -> None:
    hand.order(FOREVER)
    hand.stdin.write(b"\xff{]\n")
    hand.tell({"nonsense": 1})
    assert hand.hear_of("not-understood")["text"].endswith("{]")
    assert hand.hear_of("not-understood")["text"] == '{"nonsense": 1}'
    assert hand.stop()["reason"] == "asked"


def test_a_sweep_ends_what_carries_the_mark_and_nothing_else(
    hand: Hand, bystander: subprocess.Popen[bytes]
) -> None:
    environment = {"TOKGATE_MARK": hand.mark}
    with subprocess.Popen(["/bin/sleep", "300"], env=environment, start_new_session=True) as left:
        hand.tell({"sweep": hand.mark})
        assert hand.hear() == {"event": "swept", "killed": True, "survivors": []}
        assert left.wait(10) == -signal.SIGKILL
    assert bystander.poll() is None


def test_a_pid_with_another_start_time_is_a_stranger(bystander: subprocess.Popen[bytes]) -> None:
    row = supervisor.read_row(bystander.pid)
    assert row is not None
    supervisor.send(row._replace(start_ticks=row.start_ticks - 1), signal.SIGKILL)
    assert lives(bystander.pid)
    supervisor.send(row, signal.SIGKILL)
    assert bystander.wait(10) == -signal.SIGKILL


def test_a_name_with_brackets_and_blanks_does_not_shift_the_fields(tmp_path: Path) -> None:
    program = tmp_path / "a) S 1 (b"
    program.symlink_to("/bin/sleep")
    with subprocess.Popen([program, "300"]) as process:
        row = supervisor.read_row(process.pid)
        assert row is not None
        assert (row.ppid, row.comm) == (os.getpid(), "a) S 1 (b")
        process.kill()


@pytest.mark.parametrize("program", [supervisor, host_probe], ids=["supervisor", "host_probe"])
def test_it_is_one_file_for_python_3_9_and_the_standard_library(program: ModuleType) -> None:
    tree = ast.parse(Path(str(program.__file__)).read_text(), feature_version=(3, 9))
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    assert imported <= sys.stdlib_module_names
