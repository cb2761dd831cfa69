"""A server that runs for us: asked, stopped, collected."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tokgate.client.control import Control
from tokgate.client.exchange import Target
from tokgate.errors import HostFault
from tokgate.hosts.connection import Host
from tokgate.records import EnvironmentTruth, NodeRun, ServerRun, StopRecord
from tokgate.records.redactor import Redactor

from .environment import prove_environment
from .link import Link
from .node_truth import joined
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

    def collect(self, folder: Path, name: str = LOG_NAME) -> None:
        """Copy the log, secrets replaced, into `folder` here as `name`; what lay on the host is removed."""
        try:
            text = self.log_text()
        except (HostFault, OSError) as fault:
            text = f"[tokgate: {self.log} on {self.host.name} could not be read: {fault}]\n"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8", errors="backslashreplace")
        with contextlib.suppress(HostFault):
            self.host.run("rm -rf -- %s", self.folder)


class Others(Protocol):
    """The further nodes of a server over several hosts (followers.py)."""

    def why_gone(self) -> str | None: ...
    def took_along(self) -> str | None: ...
    def prove(
        self, run: ServerRun, wanted: dict[str, str]
    ) -> tuple[tuple[NodeRun, EnvironmentTruth], ...]: ...
    def stop(self, first: StopRecord) -> StopRecord: ...
    def collect(self, folder: Path) -> None: ...


class RunningServer:
    """Stop it, then collect it: also when the measurement broke off."""

    def __init__(
        self,
        held: Held,
        run: ServerRun,
        target: Target,
        tunnel: Tunnel | None,
        others: Others | None = None,
    ) -> None:
        self.run = run
        self.target = target
        self.control = Control(run.base_url, target.api_key)
        self._held = held
        self._tunnel = tunnel
        self._others = others
        self._stop: StopRecord | None = None
        self._ended: str | None = None  # how, and whose doing: found out once

    def alive(self) -> bool:
        """Whether the process lives and can be reached, as far as is known without asking: cheap."""
        return self.why_gone() is None

    def why_gone(self) -> str | None:
        link = self._held.link
        if (reason := link.stopped_because) is not None:
            return WHY_STOPPED.get(reason, "it was stopped")
        if (how := link.ended_alone) is not None:
            if self._ended is None:
                along = self._others.took_along() if self._others is not None else None
                self._ended = along or f"the server {how}"
            return self._ended
        if link.lost:
            return "the supervisor on the host is gone"
        if self._others is not None and (lost := self._others.why_gone()) is not None:
            return lost
        return self._tunnel.problem() if self._tunnel else None

    @property
    def folder(self) -> str:
        """Where the launch's files lie on the host; `collect` removes it."""
        return self._held.folder

    def log_text(self) -> str:
        return self._held.log_text()

    def prove_environment(self, wanted: dict[str, str]) -> EnvironmentTruth:
        truth = prove_environment(self._held.host, self.run, wanted)
        return joined(truth, self._others.prove(self.run, wanted)) if self._others is not None else truth

    def stop(self) -> StopRecord:
        """Stop it and wait until every process of it is gone; a second call returns the first one's record."""
        if self._stop is None:
            self.control.close()
            if self._others is not None and self.why_gone() is not None:
                # Without one of its nodes no request of it ends: there is nothing to wait for.
                self._held.abandon()
            stop = self._held.stop()
            self._stop = self._others.stop(stop) if self._others is not None else stop
            if self._tunnel is not None:
                self._tunnel.close()
            self._held.link.close()
        return self._stop

    def collect(self, folder: Path) -> None:
        self._held.collect(folder)
        if self._others is not None:
            self._others.collect(folder)


def supervisor_argv(host: Host, folder: str) -> list[str]:
    # Isolated and without site: the login's PYTHONPATH and .pth files are not the supervisor's business.
    return [host.spec.python, "-I", "-S", f"{folder}/supervisor.py"]
