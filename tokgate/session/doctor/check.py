"""What a check is, and the one rig, host and checkout that all checks of an examination look at."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from tokgate.errors import HostLost
from tokgate.hosts.connection import Host
from tokgate.records.doctor import Remark
from tokgate.rig.models import Rig

T = TypeVar("T")


class NotLooked(Exception):  # noqa: N818 - no error: the reason why a check has nothing to say
    """A check cannot look, for the reason in the text; it becomes `unknown`."""


@dataclass
class _Cell:
    lock: threading.Lock = field(default_factory=threading.Lock)
    value: Any = None
    error: Exception | None = None
    read: bool = False


class Case:
    """A rig, where it runs, and what has been read of it so far. Checks of several threads share it."""

    def __init__(
        self,
        rig: Rig,
        *,
        root: Path,
        reports: Path,
        host: Host | None,
        why_no_host: str = "",
        repository: str | None = None,
    ) -> None:
        """`repository`: a checkout of SGLang on the host, whose sides are to be compared."""
        self.rig = rig
        self.root = root
        self.reports = reports
        self.repository = repository
        self._host = host
        self._why_no_host = why_no_host
        self.lost: HostLost | None = None  # why the host, reached at first, did not answer a check any more
        self._cells: dict[str, _Cell] = {}
        self._guard = threading.Lock()

    @property
    def host(self) -> Host:
        """NotLooked: it cannot be reached."""
        if self._host is None:
            raise NotLooked(self._why_no_host)
        return self._host

    def once(self, name: str, read: Callable[[], T]) -> T:
        """Return what `read` returns, or raise what it raises; of all that ask under this name the first one reads."""
        with self._guard:
            cell = self._cells.setdefault(name, _Cell())
        with cell.lock:
            if not cell.read:
                try:
                    cell.value = read()
                except Exception as error:  # noqa: BLE001 - raised again, for each who asks
                    cell.error = error
                cell.read = True
        if cell.error is not None:
            raise cell.error
        found: T = cell.value
        return found


def always(_: Rig) -> bool:
    return True


def with_gpus(rig: Rig) -> bool:
    return rig.gpus.count > 0


def with_several_gpus(rig: Rig) -> bool:
    return rig.gpus.count > 1


def with_required_patches(rig: Rig) -> bool:
    return bool(rig.server.required)


def behind_ssh(rig: Rig) -> bool:
    return rig.host.testinfra.startswith("ssh://")


@dataclass(frozen=True)
class Check:
    """One question. `ask` yields at least one remark, or raises GateError or NotLooked where it cannot look.

    `looks`: completes "to see ". `prevents`: what a gate would meet later. `limit_s`: of the check alone, whatever it
    waits for. `quick`: whether `--quick` asks it too. `applies`: to which rigs.
    """

    name: str
    looks: str
    prevents: str
    ask: Callable[[Case], Iterable[Remark]]
    limit_s: float = 30.0
    quick: bool = True
    applies: Callable[[Rig], bool] = always
