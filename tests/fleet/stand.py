"""Hosts of a fleet on one machine: each a network and a process table of its own, with its own sshd, keys and simulated box.

The gate that measures them runs in another network, joined to each host by a pair of virtual interfaces, so that a link can be
taken down; addresses are the same in every stand and clash with nobody's. A namespace ends with the process that holds it, and
that with the test: whatever happens, nothing is left behind but files below its own folder.

Needs root, unshare and ip (Debian: util-linux, iproute2). `why_not` says what is missing.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from .namespaces import Namespace, end_with_us, keygen
from .net_host import NetHost

ROOT = Path(__file__).parents[2]


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


class Stand:
    """Hosts and the network that the gate runs in."""

    def __init__(self, folder: Path, names: Sequence[str]) -> None:
        self.folder = folder
        self._gate = Namespace(processes=False)
        self._gate.ip("link", "set", "lo", "up")
        self.identity = keygen(folder / "user_key")
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
                preexec_fn=end_with_us,  # noqa: PLW1509 - it makes one call of the kernel
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
