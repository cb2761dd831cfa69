"""One host of a stand: a network and a process table of its own, with its own sshd, keys and simulated box."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from .namespaces import Namespace, keygen, program, wait_for


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
        self.host_key = keygen(folder / "host_key")
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
        argv = [program("sshd"), "-D", "-f", str(self.config), "-E", str(self.log)]
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
