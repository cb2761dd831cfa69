"""A server that runs for us: asked, stopped, collected."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from tokgate.client.control import Control
from tokgate.client.exchange import Target
from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.records import EnvironmentTruth, ServerRun, StopRecord
from tokgate.records.redactor import Redactor

from .environment import prove_environment
from .link import Link
from .stop import WHY_STOPPED, stop_server
from .tunnel import Tunnel

LOG_NAME = "server.log"


@dataclass(frozen=True)
class Held:
    """What the gate holds of one launch, from the first moment on: enough to stop it and fetch its log."""

    host: Host
    folder: str  # on the host
    mark: str
    link: Link
    redactor: Redactor
    stop_timeout_s: float

    @property
    def log(self) -> str:
        return f"{self.folder}/{LOG_NAME}"

    def log_text(self) -> str:
        """Return the log so far, secrets replaced. HostFault: it cannot be read."""
        raw = Path(self.log).read_bytes() if self.host.local else self.host.read_file(self.log)
        return self.redactor.clean((raw or b"").decode("utf-8", "backslashreplace"))

    def stop(self) -> StopRecord:
        return stop_server(
            self.link,
            self.host,
            mark=self.mark,
            stop_timeout_s=self.stop_timeout_s,
            supervisor_argv=supervisor_argv(self.host, self.folder),
        )

    def abandon(self) -> None:
        """End it without waiting for requests in flight; may be called again."""
        if self.link.lost:
            self.stop()
        self.link.close()

    def collect(self, folder: Path) -> None:
        """Copy the log, secrets replaced, into `folder` here; what lay on the host is removed."""
        try:
            text = self.log_text()
        except (HostFault, OSError) as fault:
            text = f"[tokgate: {self.log} on {self.host.name} could not be read: {fault}]\n"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / LOG_NAME).write_text(text, encoding="utf-8", errors="backslashreplace")
        with contextlib.suppress(HostFault):
            self.host.run("rm -rf -- %s", self.folder)


class RunningServer:
    """Stop it, then collect it: also when the measurement broke off."""

    def __init__(self, held: Held, run: ServerRun, target: Target, tunnel: Tunnel | None) -> None:
        self.run = run
        self.target = target
        self.control = Control(run.base_url, target.api_key)
        self._held = held
        self._tunnel = tunnel
        self._stop: StopRecord | None = None

    def alive(self) -> bool:
        """Whether the process lives and can be reached, as far as is known without asking: cheap."""
        return self.why_gone() is None

    def why_gone(self) -> str | None:
        link = self._held.link
        if (reason := link.stopped_because) is not None:
            return WHY_STOPPED.get(reason, "it was stopped")
        if (how := link.ended_alone) is not None:
            return f"the server {how}"
        if link.lost:
            return "the supervisor on the host is gone"
        return self._tunnel.problem() if self._tunnel else None

    @property
    def folder(self) -> str:
        """Where the launch's files lie on the host; `collect` removes it."""
        return self._held.folder

    def log_text(self) -> str:
        return self._held.log_text()

    def prove_environment(self, wanted: dict[str, str]) -> EnvironmentTruth:
        return prove_environment(self._held.host, self.run, wanted)

    def stop(self) -> StopRecord:
        """Stop it and wait until every process of it is gone; a second call returns the first one's record."""
        if self._stop is None:
            self.control.close()
            self._stop = self._held.stop()
            if self._tunnel is not None:
                self._tunnel.close()
            self._held.link.close()
        return self._stop

    def collect(self, folder: Path) -> None:
        self._held.collect(folder)


def supervisor_argv(host: Host, folder: str) -> list[str]:
    # Isolated and without site: the login's PYTHONPATH and .pth files are not the supervisor's business.
    return [host.spec.python, "-I", "-S", f"{folder}/supervisor.py"]
