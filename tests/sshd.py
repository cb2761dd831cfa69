"""A real sshd on loopback with keys of its own, for everything that must work behind ssh.

`Sshd.spec()` is what a rig's [host] table would hold. It touches neither ~/.ssh nor /etc/ssh.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tokgate.rig.machine import HostSpec

START_LIMIT_S = 15.0


class Sshd:
    """A running sshd that lets the current user in with `identity`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.user = getpass.getuser()
        self.host_key = _keygen(folder / "host_key")
        self.identity = _keygen(folder / "user_key")
        shutil.copy(f"{self.identity}.pub", folder / "authorized_keys")
        (folder / "authorized_keys").chmod(0o600)
        self.log = folder / "sshd.log"
        self.port = _free_port()
        self.known_hosts = folder / "known_hosts"
        self.trust(Path(f"{self.host_key}.pub"))
        self.ssh_config = folder / "ssh_config"
        self.ssh_config.write_text(
            f"Host *\n  UserKnownHostsFile {self.known_hosts}\n  GlobalKnownHostsFile /dev/null\n"
            f"  StrictHostKeyChecking yes\n  IdentitiesOnly yes\n  IdentityFile {self.identity}\n"
            "  IdentityAgent none\n"
        )
        config = folder / "sshd_config"
        config.write_text(
            f"Port {self.port}\nListenAddress 127.0.0.1\nHostKey {self.host_key}\n"
            f"AuthorizedKeysFile {folder / 'authorized_keys'}\nPidFile {folder / 'sshd.pid'}\n"
            "StrictModes no\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            "PermitRootLogin prohibit-password\nPrintMotd no\nMaxStartups 100\nMaxSessions 100\nUseDNS no\n"
            "Subsystem sftp internal-sftp\n"
        )
        self.process = subprocess.Popen(
            [_program("sshd"), "-D", "-f", str(config), "-E", str(self.log)], start_new_session=True
        )
        self._wait()

    def spec(self, **changes: Any) -> HostSpec:
        return HostSpec(
            **{
                "testinfra": f"ssh://{self.user}@127.0.0.1:{self.port}",
                "ssh_config": str(self.ssh_config),
                "work_dir": str(self.folder / "work"),
                **changes,
            }
        )

    def trust(self, public_key: Path) -> None:
        """Make `public_key` the one that this machine expects of the host."""
        kind, key = public_key.read_text().split()[:2]
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {kind} {key}\n")

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop every process of this sshd, as a dead network would."""
        pids = [self.process.pid, *_descendants(self.process.pid)]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP)
        try:
            yield
        finally:
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGCONT)

    def hang_up(self) -> None:
        """Drop all connections that stand now; new ones are taken as before."""
        for pid in _descendants(self.process.pid):
            if _comm(pid) == "sshd":
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def stop(self) -> None:
        self.hang_up()
        self.process.terminate()
        self.process.wait(10)

    def _wait(self) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as line:
                if line.recv(4) == b"SSH-":
                    return
            time.sleep(0.02)
        said = self.log.read_text() if self.log.exists() else "nothing"
        self.process.kill()
        self.process.wait()
        pytest.fail(f"sshd did not start on 127.0.0.1:{self.port}; it said: {said}")


@pytest.fixture(scope="session")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """One sshd for all tests of a worker. Tests that use it carry the marker `sshd`."""
    server = Sshd(tmp_path_factory.mktemp("sshd"))
    yield server
    server.stop()


def _program(name: str) -> str:
    # sbin is not on every user's path; sshd insists on being started by its full name.
    path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if path is None:
        pytest.fail(f"{name} is not installed on this machine: run `make system-packages`")
    if name == "sshd" and os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    return path


def _keygen(path: Path) -> Path:
    subprocess.run([_program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _descendants(pid: int) -> list[int]:
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = [pid]
    for parent in found:
        found += [child for child, above in parents.items() if above == parent]
    return found[1:]


def _comm(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""
