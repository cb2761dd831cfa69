"""From nothing to the first tokens and back, with a stand-in for SGLang; here and over ssh."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server.bench import Bench
from tests.server.hand import lives, marked, wait_for
from tokgate.errors import StartFault
from tokgate.records import StartCause, StartFailure
from tokgate.server import supervisor


def failure_of(bench: Bench, *misbehave: str, **args: object) -> StartFailure:
    server = args.pop("server", None)
    with pytest.raises(StartFault) as caught:
        bench.start(*misbehave, server=server, **args)  # type: ignore[arg-type]
    failure = caught.value.failure
    assert failure is not None
    assert caught.value.found == f"{failure.cause.value}: {failure.headline}"
    assert marked(bench.mark) == []
    return failure


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_server_is_started_asked_and_stopped(bench_anywhere: Bench) -> None:
    bench = bench_anywhere
    running = bench.start()
    run = running.run
    assert running.alive()
    assert (run.host, run.mark, run.sglang_version) == (bench.host.name, bench.mark, "0.5.23")
    assert run.sid == run.pid
    main = supervisor.read_row(run.pid)
    assert main is not None
    assert main.comm.startswith("python")  # and no shell around it, whichever /bin/sh is
    assert run.ready_after_s > 0
    assert running.control.generate_once().counters.completion_tokens == 4
    # The port on the host; from here it is the tunnel's where there is one.
    assert (run.port == running.target.port) is bench.host.local
    assert f"--port {run.port}" in run.line.shown

    stop = running.stop()
    assert (stop.asked, stop.killed, stop.survivors, stop.note) == ("term", False, (), None)
    assert running.stop() is stop
    assert not running.alive()
    assert marked(bench.mark) == []
    running.collect(bench.folder)
    assert "fired up and ready to roll" in bench.log
    launches = Path(bench.host.spec.work_dir) / "launches"
    assert list(launches.iterdir()) == []


def test_the_key_is_shown_nowhere(bench: Bench) -> None:
    running = bench.start()
    key = running.target.api_key
    assert key is not None
    assert not key.startswith("-")
    running.stop()
    running.collect(bench.folder)
    assert key not in running.run.model_dump_json()
    assert running.run.server_info["api_key"] == "[redacted]"
    assert key not in bench.log
    assert "'api_key': '[redacted]'" in bench.log


def test_a_token_that_is_passed_on_from_the_host_is_shown_nowhere(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_s3cr3ts3cr3t")
    running = bench.start(server={"pass_environment": ("PATH", "HOME", "HF_TOKEN")})
    running.stop()
    assert running.run.passed["HF_TOKEN"] == "[redacted]"
    assert "hf_s3cr3ts3cr3t" not in running.run.model_dump_json()
    assert bench.redactor.clean("said hf_s3cr3ts3cr3t") == "said [redacted]"


def test_a_failure_shows_no_key_either(bench: Bench) -> None:
    failure = failure_of(bench, "error", server={"start_timeout_s": 2})
    assert failure.cause is StartCause.NOT_READY
    assert "500" in failure.headline
    assert "planted, key [redacted]" in failure.headline
    assert "'api_key': '[redacted]'" in "\n".join(failure.log_tail)


@pytest.mark.parametrize(
    ("misbehave", "server", "cause", "words"),
    [
        ("mute", {"silence_timeout_s": 1}, StartCause.EMPTY_LOG, "has written nothing"),
        ("hush", {"silence_timeout_s": 1}, StartCause.SILENT, "nothing new in the log for 1 s"),
        ("chatter", {"start_timeout_s": 1.5}, StartCause.NOT_READY, "no generation within"),
        ("elsewhere", {"start_timeout_s": 1.5}, StartCause.NOT_READY, "no generation within"),
        ("short", {"start_timeout_s": 1.5}, StartCause.NOT_READY, "a generation gave 1 tokens of 4"),
        ("hang", {"start_timeout_s": 2}, StartCause.NOT_READY, "no answer within"),
    ],
)
def test_a_server_that_does_not_come_up_is_given_up_by_name(
    bench: Bench, misbehave: str, server: dict[str, object], cause: StartCause, words: str
) -> None:
    failure = failure_of(bench, misbehave, server=server)
    assert failure.cause is cause
    assert words in failure.headline
    assert failure.do


def test_a_server_that_dies_tells_its_cause_and_its_last_lines(bench_anywhere: Bench) -> None:
    words = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 384.00 MiB."
    failure = failure_of(bench_anywhere, "die", say=words, code=7)
    assert (failure.cause, failure.rc) == (StartCause.DOES_NOT_FIT, 7)
    assert failure.evidence == (words,)
    assert failure.log_tail[-1] == words
    assert words in bench_anywhere.log


def test_a_python_that_is_not_there(bench_anywhere: Bench) -> None:
    failure = failure_of(bench_anywhere, server={"python": "/nowhere/python"})
    assert (failure.cause, failure.rc) == (StartCause.NO_PYTHON, 127)
    assert "/nowhere/python" in failure.headline


def test_a_module_that_is_not_there(bench: Bench) -> None:
    failure = failure_of(bench, server={"module": "no_such_sglang"})
    assert (failure.cause, failure.rc) == (StartCause.NO_MODULE, 1)
    assert "no_such_sglang" in failure.headline


def test_an_argument_that_is_refused(bench: Bench) -> None:
    failure = failure_of(bench, no_such_flag=3)
    assert (failure.cause, failure.rc) == (StartCause.BAD_ARGUMENT, 2)
    assert "--no-such-flag 3" in failure.headline


def test_the_rigs_port_is_taken(bench: Bench, taken_port: int) -> None:
    failure = failure_of(bench, port=taken_port, server={"port": "as-written"})
    assert failure.cause is StartCause.PORT_TAKEN
    assert f"pid {os.getpid()}" in failure.headline


def test_another_server_on_the_port_is_never_taken_for_ours(bench: Bench, tmp_path: Path) -> None:
    """It comes between the look at the port and our server's own bind, as on a machine with two owners."""
    port_file = tmp_path / "port"
    stranger = (
        "import http.server,pathlib,sys,time;p=pathlib.Path(sys.argv[1])\n"
        "while not p.exists(): time.sleep(.01)\n"
        "http.server.ThreadingHTTPServer(('127.0.0.1',int(p.read_text())),http.server.SimpleHTTPRequestHandler)"
        ".serve_forever()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", stranger, str(port_file)], stderr=subprocess.DEVNULL
    ) as other:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        python = tmp_path / "python"
        python.write_text(f"#!/bin/sh\necho {port} > {port_file}\nexec sleep 300\n")
        python.chmod(0o755)
        failure = failure_of(bench, port=port, server={"port": "as-written", "python": str(python)})
        assert other.poll() is None
        other.kill()
    assert failure.cause is StartCause.WRONG_SERVER
    assert f"pid {other.pid}" in failure.headline


def test_a_log_folder_that_cannot_be_written(bench_anywhere: Bench) -> None:
    bench = bench_anywhere
    bench.host.spec = bench.host.spec.model_copy(update={"work_dir": "/proc/nowhere"})
    assert failure_of(bench).cause is StartCause.LOG_NOT_WRITABLE


def test_a_server_that_ignores_term_and_leaks_a_child_is_ended_all_the_same(bench: Bench) -> None:
    running = bench.start("deaf", "leak", server={"stop_timeout_s": 0.5})
    assert len(marked(bench.mark)) == 3
    stop = running.stop()
    assert (stop.killed, stop.survivors) == (True, ())
    assert marked(bench.mark) == []


def test_a_server_killed_while_it_runs_is_not_alive_any_more(bench_anywhere: Bench) -> None:
    running = bench_anywhere.start()
    os.kill(running.run.pid, signal.SIGKILL)
    wait_for(lambda: not running.alive())
    assert running.why_gone() == "the server was ended by signal 9"
    stop = running.stop()
    assert stop.note == "before that, the server was ended by signal 9"


def test_a_server_stopped_at_its_time_limit_says_so(bench: Bench) -> None:
    running = bench.start(server={"time_limit_s": 3})
    wait_for(lambda: not running.alive())
    words = "the supervisor had stopped it at server.time_limit_s"
    assert running.why_gone() == words
    assert running.stop().note == words


def test_what_a_killed_supervisor_left_is_ended_by_a_new_one(bench: Bench) -> None:
    running = bench.start("leak")
    (pid,) = [
        int(entry.name)
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit()
        and b"supervisor.py" in cmdline(entry)
        and bench.folder.parent.name.encode() in cmdline(entry)
    ]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not running.alive())
    assert running.why_gone() == "the supervisor on the host is gone"
    stop = running.stop()
    assert stop.note == "its supervisor was gone; what carried the mark was ended by a new one"
    assert (stop.killed, stop.survivors) == (True, ())
    assert marked(bench.mark) == []


def cmdline(entry: Path) -> bytes:
    try:
        return (entry / "cmdline").read_bytes()
    except OSError:
        return b""


GATE = """
import sys
sys.path.insert(0, %r)
from pathlib import Path
from tests.server.bench import Bench
from tokgate.hosts.connection import connect
from tokgate.records.redactor import Redactor
from tokgate.rig.models import HostSpec

def test_a_long_measurement():
    folder, mark = Path(sys.argv[-2]), sys.argv[-1]
    host = connect(HostSpec(python=sys.executable, work_dir=str(folder / "work")))
    running = Bench(host, Redactor(), mark, folder / "launch").start("deaf", "leak")
    (folder / "ready").write_text(str(running.run.pid))
    sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM], ids=["SIGKILL", "SIGTERM"])
def test_no_server_outlives_a_pytest_that_was_killed(
    tmp_path: Path, mark: str, number: signal.Signals
) -> None:
    (tmp_path / "test_gate.py").write_text(GATE % str(Path(__file__).parents[2]))
    code = "import sys,pytest; sys.exit(pytest.main(sys.argv[1:5] + ['--confcutdir', sys.argv[-2], '-s']))"
    arguments = [str(tmp_path / "test_gate.py"), "-n0", "-p", "no:cacheprovider", str(tmp_path), mark]
    with subprocess.Popen([sys.executable, "-c", code, *arguments], stdin=subprocess.PIPE) as gate:
        pid = int(wait_for(lambda: text(tmp_path / "ready")))
        assert lives(pid)
        assert len(marked(mark)) == 3
        gate.send_signal(number)
        # A process that is going has no environment any more a moment before it is gone.
        wait_for(lambda: not marked(mark) and not lives(pid), limit_s=15)
        gate.kill()


def text(path: Path) -> str:
    return path.read_text() if path.exists() else ""
