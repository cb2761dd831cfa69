"""The way back to a supervisor after a dropped connection."""

from __future__ import annotations

import json
from typing import Protocol

from tokgate.hosts.connection import Host

from .events import Event


class Comeback(Protocol):
    """What is left when the connection is gone but the host is not."""

    def touch(self) -> None: ...
    def ask_stop(self) -> None: ...
    def events(self) -> list[Event]: ...
    def log_bytes(self) -> int | None: ...


class FolderComeback:
    """The supervisor's folder, reached by commands of their own. HostFault: not even that works."""

    def __init__(self, host: Host, folder: str, log: str) -> None:
        self._host = host
        self._folder = folder
        self._log = log

    def touch(self) -> None:
        self._host.run("touch %s", f"{self._folder}/heartbeat")

    def ask_stop(self) -> None:
        self._host.run("touch %s", f"{self._folder}/stop")

    def events(self) -> list[Event]:
        raw = self._host.read_file(f"{self._folder}/events") or b""
        return [json.loads(line) for line in raw.splitlines() if line.endswith(b"}")]

    def log_bytes(self) -> int | None:
        told = self._host.run("wc -c < %s", self._log).stdout.strip()
        return int(told) if told.isdigit() else None
