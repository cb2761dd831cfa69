"""The same promises for this machine and for one behind ssh."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.sshd import Sshd
from tokgate.errors import HostFault, RigError
from tokgate.hosts.connection import Host, connect
from tokgate.records.redactor import Redactor
from tokgate.rig.machine import HostSpec

PYTHON = sys.executable


@pytest.fixture(params=["local", pytest.param("ssh", marks=pytest.mark.sshd)])
def host(request: pytest.FixtureRequest) -> Host:
    if request.param == "local":
        return connect(HostSpec(python=PYTHON))
    server: Sshd = request.getfixturevalue("sshd")
    return connect(server.spec(python=PYTHON))


def test_a_result_carries_everything(host: Host) -> None:
    result = host.run("echo out; echo %s >&2; exit 3", "it's; $HOME `id`")
    assert (result.rc, result.stdout, result.stderr) == (3, "out\n", "it's; $HOME `id`\n")
    assert not result.timed_out
    assert result.command.startswith("echo out; echo ")
    assert 0 < result.seconds < 10


def test_input_and_odd_bytes_pass_through(host: Host) -> None:
    assert host.run("cat", stdin="zwölf\n" * 100_000).stdout == "zwölf\n" * 100_000
    assert host.run("printf '\\377\\0x'").stdout == "\\xff\0x"


@pytest.mark.parametrize(
    "command",
    ["sleep 1000", "sleep 1000 & sleep 1000", "trap '' TERM; sleep 1000 & wait; sleep 1000"],
    ids=["plain", "grandchild holds the pipe", "ignores TERM"],
)
def test_a_command_ends_at_its_limit_and_leaves_nothing(host: Host, command: str) -> None:
    began = time.monotonic()
    result = host.run(f"echo $$; {command}", timeout_s=1)
    assert result.timed_out
    assert result.rc is None
    # What it had said by then is kept; its number is that of its process group.
    group = int(result.stdout)
    assert time.monotonic() - began < 8
    assert _living(group) == []


def test_a_child_left_in_the_background_neither_delays_nor_stays(host: Host) -> None:
    began = time.monotonic()
    result = host.run("sleep 1000 & echo $$")
    assert result.rc == 0
    assert time.monotonic() - began < 8
    assert _living(int(result.stdout)) == []


def test_a_process_that_left_the_group_delays_the_answer_only_shortly(host: Host) -> None:
    began = time.monotonic()
    result = host.run("setsid sh -c 'echo $$; exec sleep 30' & wait", timeout_s=1)
    try:
        assert result.timed_out
        assert time.monotonic() - began < 8
    finally:
        os.kill(int(result.stdout), 9)


def test_a_flood_is_a_fault_and_not_a_full_memory(host: Host) -> None:
    with pytest.raises(HostFault, match="bytes more than"):
        host.run("head -c 80000000 /dev/zero")


def test_files_go_there_and_back(host: Host, tmp_path: Path) -> None:
    path = str(tmp_path / "new folder" / "it's")
    content = bytes(range(256)) * 2000
    assert host.read_file(path) is None
    host.write_file(path, content, mode=0o640)
    assert host.read_file(path) == content
    assert Path(path).stat().st_mode & 0o777 == 0o640
    host.write_file(path, "short")
    assert host.read_file(path) == b"short"
    assert [p.name for p in Path(path).parent.iterdir()] == ["it's"]
    assert host.read_file(f"{path}/below-a-file") is None


def test_a_file_that_cannot_be_read_or_written_is_a_fault(host: Host, tmp_path: Path) -> None:
    with pytest.raises(HostFault, match="Is a directory"):
        host.read_file(str(tmp_path))
    with pytest.raises(HostFault, match="to write /proc/nowhere/x"):
        host.write_file("/proc/nowhere/x", "")


def test_a_script_gets_and_gives_json(host: Host) -> None:
    source = "import sys\ndef main(argument):\n    print('noise')\n    return {'got': argument, 'v': sys.version_info[0]}\n"
    assert host.run_python(source, ["ä", 1, None]) == {"got": ["ä", 1, None], "v": 3}


def test_a_script_that_raises_is_quoted_with_its_line(host: Host) -> None:
    with pytest.raises(HostFault) as caught:
        host.run_python("def main(argument):\n    return argument['missing']\n", {}, name="reader")
    assert "to run the reader" in caught.value.tried
    assert "return argument['missing']" in caught.value.found
    assert "KeyError" in caught.value.found


def test_of_an_interpreter_that_does_not_start_the_next_step_is_what_it_said(
    host: Host, tmp_path: Path
) -> None:
    python = tmp_path / "python3"
    python.write_text("#!/bin/sh\necho 'simbox: no such package: pip install it' >&2\nexit 127\n")
    python.chmod(0o755)
    with pytest.raises(HostFault) as caught:
        host.run_python("def main(_):\n    return 1\n", python=str(python))
    assert caught.value.do == "simbox: no such package: pip install it; then run the same again"


def test_a_script_that_hangs_is_ended(host: Host) -> None:
    source = "import sys, time\ndef main(argument):\n    print('so far', flush=True)\n    time.sleep(1000)\n"
    with pytest.raises(HostFault, match=r"not done after 1 s: so far"):
        host.run_python(source, timeout_s=1)


def test_a_script_may_run_under_another_interpreter_and_environment(host: Host) -> None:
    source = "import os, sys\ndef main(_):\n    return [sys.executable, os.environ.get('COLOUR')]\n"
    got = host.run_python(source, python=PYTHON, environment={"COLOUR": "red"}, isolated=False)
    assert got == [PYTHON, "red"]
    with pytest.raises(HostFault, match="No such file"):
        host.run_python(source, python="/no/such/python")


@pytest.mark.parametrize("kind", ["local", pytest.param("ssh", marks=pytest.mark.sshd)])
def test_a_rig_may_set_path_and_variables_for_every_command(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    tool = tmp_path / "a folder" / "whichever"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\necho "ours $WORD"\n')
    tool.chmod(0o755)
    more = {"path": (str(tool.parent),), "environment": {"WORD": "it's; $HOME"}}
    spec = HostSpec(python=PYTHON) if kind == "local" else request.getfixturevalue("sshd").spec(python=PYTHON)
    host = connect(spec.model_copy(update=more))
    assert host.run("whichever; command -v cat >/dev/null").stdout == "ours it's; $HOME\n"
    script = (
        "import os, subprocess\ndef main(_): return [os.environ['WORD'], subprocess.getoutput('whichever')]"
    )
    assert host.run_python(script) == ["it's; $HOME", "ours it's; $HOME"]
    live = subprocess.run(host.popen_command(["whichever"]), capture_output=True, text=True, check=True)
    assert live.stdout == "ours it's; $HOME\n"


def test_no_python_on_the_host_says_so(host: Host) -> None:
    bare = connect(host.spec.model_copy(update={"python": "python3-of-nowhere"}))
    with pytest.raises(HostFault, match="no usable Python called 'python3-of-nowhere'") as caught:
        bare.run("true")
    assert "host.python" in caught.value.do


def test_secrets_are_never_shown(host: Host, caplog: pytest.LogCaptureFixture) -> None:
    secret = 'tg-"q"-0123456789'
    redactor = Redactor()
    redactor.add(secret)
    clean = connect(host.spec, redactor=redactor)
    with caplog.at_level("DEBUG"):
        results = [
            clean.run("echo %s; echo %s >&2", secret, secret),
            clean.run("cat", stdin=secret),
            clean.run_python("def main(a):\n    return {a: [a]}\n", secret),
        ]
        with pytest.raises(HostFault) as caught:
            clean.run_python("def main(a):\n    raise ValueError(a)\n", secret)
    for shown in [*map(repr, results), *map(str, results), str(caught.value), caplog.text]:
        assert "0123456789" not in shown
    assert "[redacted]" in results[0].stdout
    assert "[redacted]" in str(caught.value)


def test_live_commands_have_stdin_and_stdout(host: Host) -> None:
    argv = host.popen_command([PYTHON, "-c", "print(input() + ' and back; it\\'s $HOME')"])
    done = subprocess.run(argv, input="there\n", capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == "there and back; it's $HOME\n"


def test_testinfras_own_modules_work_through_the_same_gate(host: Host, tmp_path: Path) -> None:
    (tmp_path / "x").write_text("y")
    assert host.testinfra.file(str(tmp_path / "x")).content_string == "y"


@pytest.mark.parametrize(
    "address", ["gpu7", "paramiko://gpu7", "ssh://", "docker://x", "ssh://me:secret@gpu7", ""]
)
def test_addresses_that_are_not_supported_are_refused(address: str) -> None:
    with pytest.raises(RigError, match=r"to read host\.testinfra") as caught:
        connect(HostSpec(testinfra=address))
    assert "secret" not in str(caught.value)


def test_names_read_like_addresses() -> None:
    assert connect(HostSpec()).name == "local"
    assert connect(HostSpec()).local
    far = connect(HostSpec(testinfra="ssh://me@gpu7:2222"))
    assert far.name == "ssh://me@gpu7:2222"
    assert not far.local


def test_this_machine_needs_no_tunnel() -> None:
    with pytest.raises(HostFault, match="this machine"):
        connect(HostSpec()).ssh_forward_command(1, 2)


@pytest.mark.sshd
def test_a_tunnel_reaches_a_port_of_the_host(sshd: Sshd) -> None:
    with socket.create_server(("127.0.0.1", 0)) as far, socket.create_server(("127.0.0.1", 0)) as taken:
        near_port = taken.getsockname()[1]
        taken.close()
        command = connect(sshd.spec()).ssh_forward_command(near_port, far.getsockname()[1])
        with subprocess.Popen(command) as tunnel:
            deadline = time.monotonic() + 15
            while True:
                try:
                    near = socket.create_connection(("127.0.0.1", near_port), 1)
                    break
                except OSError:
                    assert tunnel.poll() is None
                    assert time.monotonic() < deadline
            with near:
                far.settimeout(10)
                line, _ = far.accept()
                with line:
                    line.sendall(b"through")
                    near.settimeout(10)
                    assert near.recv(7) == b"through"
            tunnel.terminate()


@pytest.mark.sshd
def test_a_refused_key_says_so(sshd: Sshd, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        f"Host *\n  UserKnownHostsFile {sshd.known_hosts}\n  IdentitiesOnly yes\n  IdentityFile /dev/null\n"
        "  IdentityAgent none\n"
    )
    with pytest.raises(HostFault, match="refused to let us in") as caught:
        connect(sshd.spec(ssh_config=str(config))).run("true")
    assert "Permission denied" in caught.value.found
    assert "host.ssh_identity" in caught.value.do


@pytest.mark.sshd
def test_a_changed_host_key_says_so(sshd: Sshd) -> None:
    sshd.trust(Path(f"{sshd.identity}.pub"))
    try:
        with pytest.raises(HostFault, match="not the one this machine knows"):
            connect(sshd.spec()).run("true")
        sshd.known_hosts.write_text("")
        with pytest.raises(HostFault, match="host key is not known"):
            connect(sshd.spec()).run("true")
    finally:
        sshd.trust(Path(f"{sshd.host_key}.pub"))


@pytest.mark.sshd
def test_nothing_listening_says_so() -> None:
    with pytest.raises(HostFault, match="nothing accepts ssh connections"):
        connect(HostSpec(testinfra="ssh://127.0.0.1:1")).run("true")


@pytest.mark.sshd
def test_an_unknown_name_says_so() -> None:
    with pytest.raises(HostFault, match="name is not known"):
        connect(HostSpec(testinfra="ssh://no-such-host.invalid")).run("true")


@pytest.mark.sshd
def test_a_host_that_never_speaks_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        spec = HostSpec(testinfra=f"ssh://127.0.0.1:{mute.getsockname()[1]}?timeout=1", command_timeout_s=1)
        began = time.monotonic()
        with pytest.raises(HostFault, match="to reach ssh://"):
            connect(spec).run("true")
        assert time.monotonic() - began < 8


@pytest.mark.sshd
def test_a_host_that_stops_answering_is_given_up(sshd: Sshd) -> None:
    host = connect(sshd.spec(testinfra=f"{sshd.spec().testinfra}?timeout=1"), grace_s=1)
    assert host.run("true").rc == 0
    with sshd.frozen():
        began = time.monotonic()
        with pytest.raises(HostFault, match=r"no answer within|to reach ssh://"):
            host.run("sleep 1", timeout_s=1)
        assert time.monotonic() - began < 10


def test_a_missing_password_is_never_asked_for(tmp_path: Path) -> None:
    """Even with a terminal at hand, every way of asking is off."""
    argv = connect(HostSpec(testinfra="ssh://gpu7")).popen_command(["true"])
    assert "BatchMode=yes" in argv
    assert "-T" in argv


def _living(group: int, patience_s: float = 5.0) -> list[int]:
    """Members of a process group; one that was killed may still have to get its turn on a busy machine to die."""
    end = time.monotonic() + patience_s
    while (found := _members(group)) and time.monotonic() < end:
        os.sched_yield()
    return found


def _members(group: int) -> list[int]:
    """Zombies that init has not collected yet do not count."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _parent, pgid = stat.read_text().rpartition(")")[2].split()[:3]
            if int(pgid) == group and state != "Z":
                found.append(int(stat.parent.name))
    return found


def test_a_file_that_cannot_be_put_in_place_leaves_nothing_beside_it(host: Host, tmp_path: Path) -> None:
    with pytest.raises(HostFault, match="to write"):
        host.write_file(str(tmp_path / "x"), "content", mode=0o77777)  # which chmod refuses
    assert list(tmp_path.iterdir()) == []
