"""Hosts of a fleet on one machine: each a network and a process table of its own, with its own sshd, keys and simulated box.

The gate that measures them runs in another network, joined to each host by a pair of virtual interfaces, so that a link can be
taken down; addresses are the same in every stand and clash with nobody's. A namespace ends with the process that holds it, and
that with the test: whatever happens, nothing is left behind but files below its own folder.

Needs root, unshare and ip (Debian: util-linux, iproute2). `why_not` says what is missing.
"""

from __future__ import annotations

import contextlib
import ctypes
import getpass
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.gate.machine import INIT

ROOT = Path(__file__).parents[2]
LIMIT_S = 20.0
PR_SET_PDEATHSIG = 1  # linux/prctl.h
_HOLD = "import signal; print('up', flush=True); signal.pause()"


class Gate:
    """A program in the gate's network; `output` is a file, so that nothing blocks it."""

    def __init__(self, process: subprocess.Popen[bytes], output: Path) -> None:
        self.process = process
        self._output = output

    def said(self) -> str:
        return self._output.read_text(errors="replace")

    def finish(self, limit_s: float = 300.0) -> int:
        try:
            return self.process.wait(limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            raise AssertionError(f"not ended after {limit_s:g} s; it said:\n{self.said()}") from None


class Namespace:
    """Held by one process; `pid` is the one that others enter by."""

    def __init__(self, *, processes: bool) -> None:
        own = ["--pid", "--mount-proc", "--fork", "--kill-child"] if processes else []
        program = INIT if processes else _HOLD
        self._holder = subprocess.Popen(
            ["unshare", "--net", *own, sys.executable, "-I", "-S", "-c", program],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=_end_with_us,  # noqa: PLW1509 - it makes one call of the kernel
        )
        assert self._holder.stdout is not None
        assert self._holder.stderr is not None
        if self._holder.stdout.readline() != "up\n":
            said = self._holder.stderr.read().strip()
            self._holder.wait()
            raise OSError(said or "unshare said nothing")
        self.pid = self._child() if processes else self._holder.pid
        self._flags = ["-n", "-p", "-m"] if processes else ["-n"]

    def enter(self, argv: Sequence[str], *, cwd: Path) -> list[str]:
        # Entering a mount namespace makes its root the working folder.
        return ["nsenter", "-t", str(self.pid), *self._flags, f"--wd={cwd}", *argv]

    def ip(self, *arguments: str) -> None:
        subprocess.run(
            ["nsenter", "-t", str(self.pid), "-n", "ip", *arguments], check=True, capture_output=True
        )

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self._holder.wait()
        for pipe in (self._holder.stdout, self._holder.stderr):
            if pipe is not None:
                pipe.close()

    def _child(self) -> int:
        told = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children").read_text()
        return int(told.split()[0])


class NetHost:
    """One host: 10.77.N.2 behind the interface `to-NAME` of the gate's network."""

    def __init__(self, name: str, number: int, folder: Path, gate: Namespace) -> None:
        self.name = name
        self.folder = folder
        self.address = f"10.77.{number}.2"
        self._gate = gate
        self._number = number
        folder.mkdir(parents=True)
        self.work_dir = folder / "work"
        self.state = folder / "box"
        self.host_key = _keygen(folder / "host_key")
        self.config = folder / "sshd_config"
        self.log = folder / "sshd.log"
        self._sshd: subprocess.Popen[bytes] | None = None
        self.boot()

    def boot(self) -> None:
        """Put it up, anew after a power cut."""
        self.space = Namespace(processes=True)
        self.space.ip("link", "set", "lo", "up")
        here = f"to-{self.name}"
        subprocess.run(
            ["nsenter", "-t", str(self._gate.pid), "-n", "ip", "link", "add", here, "type", "veth",
             "peer", "name", "eth0", "netns", str(self.space.pid)],
            check=True, capture_output=True,
        )  # fmt: skip
        self._gate.ip("addr", "add", f"10.77.{self._number}.1/30", "dev", here)
        self._gate.ip("link", "set", here, "up")
        self.space.ip("addr", "add", f"{self.address}/30", "dev", "eth0")
        self.space.ip("link", "set", "eth0", "up")

    def serve(self, authorized: Path) -> None:
        """Start its sshd, which lets `authorized` keys in."""
        self.config.write_text(
            f"Port 22\nListenAddress {self.address}\nHostKey {self.host_key}\nAuthorizedKeysFile {authorized}\n"
            f"PidFile {self.folder / 'sshd.pid'}\nStrictModes no\nUsePAM no\nPasswordAuthentication no\n"
            "KbdInteractiveAuthentication no\nPermitRootLogin prohibit-password\nPrintMotd no\nMaxStartups 100\n"
            "MaxSessions 100\nUseDNS no\nAllowAgentForwarding yes\n"
            # What this machine's user has in their login files is no part of a host: it may take seconds, or hang.
            f'SetEnv HOME={self.folder} PATH="{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"\n'
        )
        argv = [_program("sshd"), "-D", "-f", str(self.config), "-E", str(self.log)]
        self._sshd = subprocess.Popen(self.space.enter(argv, cwd=self.folder), start_new_session=True)
        wait_for(self._answers, what=f"sshd of {self.name}")

    def pids(self) -> list[int]:
        """Return its processes but for pid 1, as this machine numbers them."""
        mine = Path(f"/proc/{self.space.pid}/ns/pid").readlink()
        found = []
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError, ValueError):
                pid = int(entry.name)
                if pid != self.space.pid and (entry / "ns" / "pid").readlink() == mine:
                    found.append(pid)
        return found

    def servers(self) -> dict[int, str]:
        """Return every living process there that a gate has started: pid -> mark."""
        found = {}
        for pid in self.pids():
            with contextlib.suppress(OSError):
                for variable in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                    if variable.startswith(b"TOKGATE_MARK="):
                        found[pid] = variable.decode(errors="replace").partition("=")[2]
        return found

    def left_of_us(self) -> list[str]:
        """Return the command lines of what runs there besides sshd itself: of a gate, nothing should."""
        found = []
        for pid in self.pids():
            with contextlib.suppress(OSError):
                words = (
                    Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
                if words.strip() and "sshd" not in words and "simbox" not in words:
                    found.append(words.strip())
        return found

    @property
    def lease(self) -> Path:
        return self.work_dir / "lease" / "lease.json"

    def kill_sshd(self) -> None:
        """KILL the listener and every connection that stands."""
        for pid in self.pids():
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/comm").read_text().startswith("sshd"):
                    os.kill(pid, signal.SIGKILL)
        if self._sshd is not None:
            self._sshd.wait()

    def link(self, state: str) -> None:
        """Take its network "down" or "up"."""
        self.space.ip("link", "set", "eth0", state)

    def kill_servers(self) -> None:
        for pid in self.servers():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)

    def cut_power(self) -> None:
        """End everything on it at once."""
        self.space.end()
        if self._sshd is not None:
            self._sshd.wait()

    def end(self) -> None:
        self.cut_power()

    def _answers(self) -> bool:
        argv = [sys.executable, "-I", "-S", "-c",
                f"import socket; s = socket.create_connection(({self.address!r}, 22), 1); assert s.recv(4) == b'SSH-'"]  # fmt: skip
        return (
            subprocess.run(
                self._gate.enter(argv, cwd=self.folder), capture_output=True, check=False
            ).returncode
            == 0
        )


class Stand:
    """Hosts and the network that the gate runs in."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.folder = folder
        self._gate = Namespace(processes=False)
        self._gate.ip("link", "set", "lo", "up")
        self.identity = _keygen(folder / "user_key")
        authorized = folder / "authorized_keys"
        shutil.copy(f"{self.identity}.pub", authorized)
        authorized.chmod(0o600)
        self._authorized = authorized
        self.hosts: dict[str, NetHost] = {}
        self._gates: list[Gate] = []
        for number, name in enumerate(names, start=1):
            self.hosts[name] = NetHost(name, number, folder / name, self._gate)
        self.known_hosts = folder / "known_hosts"
        self.ssh_config = folder / "ssh_config"
        self.trust(*names)
        for host in self.hosts.values():
            host.serve(authorized)

    def trust(self, *names: str) -> None:
        """Make the keys of these hosts, and no others, known to the gate's machine."""
        lines = []
        for name in names:
            kind, key = Path(f"{self.hosts[name].host_key}.pub").read_text().split()[:2]
            lines.append(f"{self.hosts[name].address} {kind} {key}\n")
        self.known_hosts.write_text("".join(lines))
        self.ssh_config.write_text(
            f"Host *\n  UserKnownHostsFile {self.known_hosts}\n  GlobalKnownHostsFile /dev/null\n"
            f"  IdentitiesOnly yes\n  IdentityFile {self.identity}\n  IdentityAgent none\n"
        )

    def serve(self, name: str) -> None:
        self.hosts[name].serve(self._authorized)

    def address(self, name: str) -> str:
        return f"ssh://{getpass.getuser()}@{self.hosts[name].address}"

    def pool_toml(self, *, more: str = "") -> str:
        """Return the [host] table of a rig that has these hosts for its pool; each has a box and a folder of its own."""
        pool = ", ".join(f'"{self.address(name)}"' for name in self.hosts)
        text = f'[host]\npool = [{pool}]\nssh_config = "{self.ssh_config}"\n{more}'
        for name, host in self.hosts.items():
            text += (
                f'\n[host.overrides."{self.address(name)}"]\nname = "{name}"\nwork_dir = "{host.work_dir}"\n'
                f'environment = {{ SIMBOX_STATE = "{host.state}" }}\n'
            )
        return text

    def start(self, *argv: str, cwd: Path = ROOT, own_processes: bool = False) -> Gate:
        """Start a program in the gate's network; `own_processes`: as if on a machine of its own."""
        output = self.folder / f"output-{len(self._gates)}"
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
        apart = ["unshare", "--pid", "--mount-proc", "--fork", "--kill-child"] if own_processes else []
        with output.open("wb") as file:
            process = subprocess.Popen(
                self._gate.enter([*apart, *argv], cwd=cwd),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**environment, "COLUMNS": "160", "PYTHONDONTWRITEBYTECODE": "1"},
                start_new_session=True,
                preexec_fn=_end_with_us,  # noqa: PLW1509 - it makes one call of the kernel
            )
        self._gates.append(Gate(process, output))
        return self._gates[-1]

    def close(self) -> None:
        for gate in self._gates:
            if gate.process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(gate.process.pid, signal.SIGKILL)
                gate.process.wait()
        for host in self.hosts.values():
            host.end()
        self._gate.end()


@contextlib.contextmanager
def stand(folder: Path, names: Sequence[str]) -> Iterator[Stand]:
    """Hosts of these names while the block runs."""
    made = Stand(folder, names)
    try:
        yield made
    finally:
        made.close()


def why_not() -> str | None:
    """Return why no host can be made here; None: they can."""
    if os.geteuid() != 0:
        return "network namespaces with process tables of their own need root"
    missing = [name for name in ("unshare", "nsenter", "ip", "sshd", "ssh", "ssh-keygen") if not _found(name)]
    if missing:
        return f"not installed: {', '.join(missing)}"
    try:
        one, other = Namespace(processes=False), Namespace(processes=True)
    except OSError as error:
        return f"namespaces cannot be made here: {error}"
    try:
        subprocess.run(
            ["nsenter", "-t", str(one.pid), "-n", "ip", "link", "add", "try0", "type", "veth", "peer", "name", "try1",
             "netns", str(other.pid)],
            check=True, capture_output=True,
        )  # fmt: skip
    except (OSError, subprocess.CalledProcessError) as error:
        return f"virtual interfaces cannot be made here: {getattr(error, 'stderr', b'') or error}"
    finally:
        one.end()
        other.end()
    return None


def wait_for(found: Callable[[], Any], *, limit_s: float = LIMIT_S, what: str = "it") -> Any:
    """Ask until the answer is true and return it; fail when the limit passes."""
    limit = time.monotonic() + limit_s
    while not (answer := found()):
        assert time.monotonic() < limit, f"{what}: not within {limit_s:g} s"
        time.sleep(0.1)
    return answer


def _end_with_us() -> None:
    """Have the kernel end what is started when this process ends, however that does."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _found(name: str) -> str | None:
    # sbin is not on every user's path; sshd insists on being started by its full name.
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/local/sbin")


def _program(name: str) -> str:
    path = _found(name)
    assert path is not None, f"{name} is not installed"
    if name == "sshd":
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    return path


def _keygen(path: Path) -> Path:
    subprocess.run([_program("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    return path
