"""A forward to a port behind ssh; without a network where a stand-in for ssh does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.server.hand import lives, wait_for
from tests.sshd import Sshd
from tokgate.errors import HostFault
from tokgate.hosts.connection import connect
from tokgate.server.tunnel import Tunnel


class StandIn:
    """A host whose ssh is a line of sh; $1 is the local port."""

    name = "ssh://standin"

    def __init__(self, line: str) -> None:
        self.line = line

    def ssh_forward_command(self, local_port: int, remote_port: int) -> list[str]:
        return ["/bin/sh", "-c", self.line, "sh", str(local_port), str(remote_port)]


@pytest.fixture
def remote_port() -> Iterator[int]:
    class Hello(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Hello) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.sshd
def test_it_carries_until_it_is_closed(sshd: Sshd, remote_port: int) -> None:
    tunnel = Tunnel(connect(sshd.spec(python=sys.executable)), remote_port)
    url = f"http://127.0.0.1:{tunnel.port}/"
    assert httpx.get(url, trust_env=False).text == "hello"
    assert tunnel.problem() is None
    tunnel.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)


@pytest.mark.sshd
def test_a_connection_that_drops_is_told(sshd: Sshd, remote_port: int) -> None:
    tunnel = Tunnel(connect(sshd.spec(python=sys.executable)), remote_port)
    sshd.hang_up()
    assert "the ssh tunnel ended with 255" in wait_for(tunnel.problem)
    tunnel.close()


def test_a_refusal_is_quoted() -> None:
    with pytest.raises(HostFault, match="administratively prohibited"):
        Tunnel(StandIn("echo administratively prohibited >&2; exit 255"), 1)


def test_a_forward_that_never_opens_is_given_up() -> None:
    with pytest.raises(HostFault, match=r"nothing listens on 127\.0\.0\.1:\d+ after 0\.3 s"):
        Tunnel(StandIn("exec sleep 300"), 1, timeout_s=0.3)


def test_a_local_port_lost_to_somebody_else_is_tried_again(tmp_path: Path) -> None:
    listen = f"exec {sys.executable} -m http.server --bind 127.0.0.1 $1 2>/dev/null"
    lost = f"test -e {tmp_path}/once || {{ touch {tmp_path}/once; echo 'bind: Address already in use' >&2; exit 255; }}"
    tunnel = Tunnel(StandIn(f"{lost}; {listen}"), 1)
    assert tunnel.problem() is None
    tunnel.close()


def test_it_ends_with_a_gate_that_was_killed(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom tests.server.test_tunnel import StandIn\n"
        "from tokgate.server.tunnel import Tunnel\n"
        "line = f'exec {sys.executable} -m http.server --bind 127.0.0.1 $1 2>/dev/null'\n"
        "tunnel = Tunnel(StandIn(line), 1)\n"
        "Path(sys.argv[1]).write_text(str(tunnel._process.pid))\nsys.stdin.read()\n"
    )
    ready = tmp_path / "pid"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(
        [sys.executable, "-c", code, ready], stdin=subprocess.PIPE, env=environment
    ) as gate:
        wait_for(ready.exists)
        pid = int(wait_for(ready.read_text))
        assert lives(pid)
        gate.send_signal(signal.SIGKILL)
        wait_for(lambda: not lives(pid))
