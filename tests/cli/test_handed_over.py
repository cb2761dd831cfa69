"""A command that another program does: it is run to its own end, and hears the signals."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

# As a gate does: interrupted it has something to do yet, which takes longer than subprocess.run would wait.
_GATE = """
import signal, sys, time
def ending(number, frame):
    signal.signal(number, signal.SIG_DFL)  # a second time ends it
    time.sleep(1)
    print("report written", flush=True)
    sys.exit(2)
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, ending)
print("measuring", flush=True)
signal.pause()
"""
_OURS = f"""
import sys
from pathlib import Path
from tokgate.cli.handed_over import handed_over
sys.exit(handed_over([sys.executable, "-c", {_GATE!r}], cwd=Path()))
"""


def test_a_reader_that_goes_away_is_no_failure_of_it() -> None:
    """`tokgate report RUN | head -1`: a pytest that cannot print ends with 1, whatever it had to say."""
    telling = "import sys; [print('x' * 999) for _ in range(999)]; sys.exit(13)"
    ours = f"""
import sys
from pathlib import Path
from tokgate.cli.handed_over import handed_over
sys.exit(handed_over([sys.executable, "-c", {telling!r}], cwd=Path()))
"""
    read, write = os.pipe()
    os.close(read)
    try:
        ended = subprocess.run(
            [sys.executable, "-c", ours], stdout=write, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(write)
    assert (ended.returncode, ended.stderr) == (13, b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_lets_the_gate_write_its_report(number: signal.Signals) -> None:
    ours = subprocess.Popen(
        [sys.executable, "-c", _OURS], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert ours.stdout is not None
    assert ours.stdout.readline() == "measuring\n"
    ours.send_signal(number)
    assert ours.communicate(timeout=60)[0] == "report written\n"
    assert ours.returncode == 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a program that its parent was killed")
def test_a_gate_whose_command_is_killed_ends_by_itself(tmp_path: Path) -> None:
    """SIGKILL passes nothing on: the gate would go on measuring, for an answer that nobody waits for."""
    written = tmp_path / "report"
    gate = _GATE.replace('print("report written", flush=True)', f"open({str(written)!r}, 'w').close()")
    ours = _OURS.replace(repr(_GATE), repr(f"import os; print(os.getpid(), flush=True)\n{gate}"))
    killed = subprocess.Popen([sys.executable, "-c", ours], stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    gate_ends = os.pidfd_open(int(killed.stdout.readline()))
    try:
        assert killed.stdout.readline() == "measuring\n"
        killed.kill()
        killed.communicate(timeout=60)
        assert select.select([gate_ends], [], [], 60)[0], "the gate goes on"
    finally:
        os.close(gate_ends)
    assert written.exists()


def test_a_terminals_ctrl_c_reaches_it_once(tmp_path: Path) -> None:
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "-c", _OURS])
    said = b""
    while b"measuring" not in said:
        said += os.read(terminal, 4096)
    os.write(terminal, b"\x03")
    while b"report written" not in said:
        said += os.read(terminal, 4096)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2
    os.close(terminal)


def test_the_end_by_a_signal_is_told_as_a_shell_tells_it() -> None:
    ours = _OURS.replace(repr(_GATE), repr("import os; os.abort()"))
    done = subprocess.run([sys.executable, "-c", ours], capture_output=True, check=False)
    assert done.returncode == 128 + signal.SIGABRT
