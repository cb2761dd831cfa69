"""What happens to fleets: each story is one gate on hosts of its own, and what is left of it."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .namespaces import wait_for
from .net_host import NetHost
from .rig import MORE, write_rig
from .stand import Gate, Stand

# Heartbeats end after 20 s (rig.MORE); then servers are stopped, which a supervisor does within seconds.
GONE_S = 90.0
HOSTILE = '<script>alert("host")</script>'


@dataclass(frozen=True)
class Run:
    code: int
    said: str
    folder: Path

    @property
    def told(self) -> str:
        """What it said, however it was folded."""
        return " ".join(self.said.split())

    @property
    def verdict(self) -> dict[str, Any]:
        return read(self.folder / "verdict.json")

    @property
    def fleet(self) -> dict[str, Any]:
        return read(self.folder / "fleet.json")

    def shifts(self, host: str) -> list[dict[str, Any]]:
        return [shift for shift in self.fleet["shifts"] if shift["host"] == host]

    def host(self, name: str) -> dict[str, Any]:
        return next(host for host in self.fleet["hosts"] if host["name"] == name)

    def verdicts(self, **wanted: str | None) -> list[dict[str, Any]]:
        return [v for v in self.verdict["verdicts"] if all(v[k] == x for k, x in wanted.items())]


def read(path: Path) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(path.read_text())
    return told


class Playing:
    """One gate on a stand, while it runs."""

    def __init__(
        self,
        stand: Stand,
        arms: Sequence[str],
        *options: str,
        own_processes: bool = False,
        name: str = "reports",
    ) -> None:
        """`own_processes`: as from another machine, whose pids say nothing on this one."""
        self.stand = stand
        self.reports = stand.folder / name
        self.rig = write_rig(stand.folder, stand.pool_toml(more=MORE), list(arms))
        self.gate: Gate = stand.start(
            str(Path(sys.executable).with_name("pytest")), "perf_tests", *([] if "-m" in options else ["-m", "eagle3"]),
            "--rig", str(self.rig), "--report-dir", str(self.reports), "-p", "no:cacheprovider", *options,
            own_processes=own_processes,
        )  # fmt: skip

    @property
    def folder(self) -> Path:
        return next(path for path in self.reports.iterdir() if path.name.endswith("-fleet"))

    def fleet(self) -> dict[str, Any]:
        path = self.folder / "fleet.json"
        return read(path) if path.exists() else {"hosts": [], "shifts": []}

    def wait_until(self, host: str, launch: str, *, limit_s: float = 300.0) -> None:
        """Wait until a host measures a launch, whose id ends so."""

        def at_it() -> bool:
            assert self.gate.process.poll() is None, self.gate.said()
            found = self.reports.glob(f"*-fleet/hosts/{host}/launches/*{launch}/generations.jsonl")
            return any(path.read_text().count("\n") > 1 for path in found)

        wait_for(at_it, limit_s=limit_s, what=f"{launch} on {host}")

    def over(self, *, limit_s: float = 400.0) -> Run:
        code = self.gate.finish(limit_s)
        return Run(code, self.gate.said(), self.folder)


def wait_until_clean(hosts: Sequence[NetHost]) -> dict[str, list[str]]:
    """Return what is left on each host once nothing is any more, or when patience has ended: nothing, it is hoped."""

    def left() -> dict[str, list[str]]:
        found = {
            host.name: [*host.left_of_us(), *(["a lease"] if host.lease.exists() else [])] for host in hosts
        }
        return {name: rest for name, rest in found.items() if rest}

    try:
        wait_for(lambda: not left(), limit_s=GONE_S, what="nothing left")
    except AssertionError:
        return left()
    return {}


@dataclass(frozen=True)
class Lost:
    """Of four hosts one is a stranger, one loses its network, one its sshd, and one a server."""

    run: Run
    again: Run
    left: dict[str, list[str]]
    killed: str  # the arm whose server was killed on a


def lose_hosts(stand: Stand) -> Lost:
    stand.trust("a", "b", "c")  # the key of d is not known
    play = Playing(stand, ["arm-1", "arm-2", "arm-3"], "-n", "3")
    hosts = stand.hosts
    play.wait_until("b", "01-baseline")
    hosts["b"].link("down")
    (shift,) = [s for s in play.fleet()["shifts"] if s["host"] == "c"]
    play.wait_until("c", shift["groups"][0])
    hosts["c"].kill_sshd()
    (shift,) = [s for s in play.fleet()["shifts"] if s["host"] == "a"]
    killed = shift["groups"][-1]
    play.wait_until("a", killed)
    hosts["a"].kill_servers()
    run = play.over()
    left = wait_until_clean(list(hosts.values()))
    return Lost(run, judged_again(stand, run), left, killed)


def judged_again(stand: Stand, run: Run, *selection: str) -> Run:
    """Judge a run again from its folder, with a hostile name and log planted in it. `selection`: other than the main job."""
    fleet = run.folder / "fleet.json"
    told = json.loads(fleet.read_text())
    for host in told["hosts"]:
        if host["why"]:
            host["why"] += HOSTILE
    told["words"].append(HOSTILE)
    fleet.write_text(json.dumps(told))
    gate = stand.start(
        str(Path(sys.executable).with_name("pytest")), f"--rejudge={run.folder}", "perf_tests",
        *(selection or ("-m", "eagle3")), "-p", "no:cacheprovider",
    )  # fmt: skip
    return Run(gate.finish(), gate.said(), run.folder)


@dataclass(frozen=True)
class Ended:
    """The controlling pytest was ended while two hosts measured."""

    alive_before: dict[str, int]
    left: dict[str, list[str]]
    code: int
    said: str
    shifts: list[dict[str, Any]]
    reported: bool  # verdict.json and report.html are there
    second: Run  # another gate, while the first one measured or was stopped
    held: dict[str, bool]  # host -> whether the first one still had it then


def end_controller(stand: Stand, number: signal.Signals, *, stopped: bool) -> Ended:
    """End it while it measures. `stopped`: it has been stopped before for longer than a lease lives, and let go on.

    Another gate comes meanwhile: from the same machine to the stopped one, else from another machine.
    """
    play = Playing(stand, ["arm-1", "arm-2"], "-n", "2")
    for name in stand.hosts:
        play.wait_until(name, "01-baseline")
    alive = {name: len(host.servers()) for name, host in stand.hosts.items()}
    if stopped:
        os.killpg(play.gate.process.pid, signal.SIGSTOP)
        # Without heartbeats their supervisors end them when a lease that nobody keeps alive would have been stale.
        wait_for(
            lambda: not any(host.servers() for host in stand.hosts.values()),
            limit_s=GONE_S,
            what="servers ended",
        )
    second = Playing(stand, ["arm-1", "arm-2"], own_processes=not stopped, name="reports-second").over()
    leases = {name: read(host.lease)["owner"] for name, host in stand.hosts.items() if host.lease.exists()}
    if stopped:
        os.killpg(play.gate.process.pid, signal.SIGCONT)
    os.kill(play.gate.process.pid, number)
    code = play.gate.finish()
    left = wait_until_clean(list(stand.hosts.values()))
    reported = all((play.folder / name).exists() for name in ("verdict.json", "report.html"))
    held = {name: owner == play.folder.name for name, owner in leases.items()}
    return Ended(alive, left, code, play.gate.said(), play.fleet()["shifts"], reported, second, held)
