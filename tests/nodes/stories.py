"""What happens to servers over two hosts: each story is a gate on two hosts of its own, and what is left of it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fleet.namespaces import wait_for
from tests.fleet.stand import ROOT, Gate, Stand, stand
from tests.fleet.stories import read, wait_until_clean

from .rig import two_nodes

# So many tokens take some seconds: a launch of them outlasts the limit of heartbeats (8 s, tests/fleet/rig.py).
LONG = 256


@contextlib.contextmanager
def joined(folder: Path) -> Iterator[Stand]:
    """Two hosts of a stand, with a network between them that the gate is not part of."""
    with stand(folder, ["a", "b"]) as made:
        a, b = made.hosts["a"].space, made.hosts["b"].space
        a.ip("link", "add", "mesh0", "type", "veth", "peer", "name", "mesh0", "netns", str(b.pid))
        for number, space in enumerate((a, b), start=1):
            space.ip("addr", "add", f"10.78.0.{number}/30", "dev", "mesh0")
            space.ip("link", "set", "mesh0", "up")
        yield made


class Playing:
    """One gate on such a stand, while it runs."""

    def __init__(
        self,
        stand: Stand,
        *options: str,
        arms: tuple[str, ...] = ("arm-1",),
        instrumented: bool = False,
        tokens: int = 32,
    ) -> None:
        self.stand = stand
        self.reports = stand.folder / f"reports-{len(list(stand.folder.glob('reports-*')))}"
        self.reports.mkdir()
        rig = two_nodes(stand, list(arms), instrumented=instrumented, tokens=tokens)
        self.gate: Gate = stand.start(
            str(Path(sys.executable).with_name("pytest")), "perf_tests", "-m", "eagle3", "--rig", str(rig),
            "--report-dir", str(self.reports), "-p", "no:cacheprovider", *options,
        )  # fmt: skip

    @property
    def folder(self) -> Path:
        return next(path for path in self.reports.iterdir() if path.is_dir())

    def wait_until(self, launch: str, *, limit_s: float = 240.0) -> None:
        """Wait until a launch, whose id ends so, is being measured."""

        def at_it() -> bool:
            assert self.gate.process.poll() is None, self.gate.said()
            found = self.reports.glob(f"*/launches/*{launch}/generations.jsonl")
            return any(path.read_text().count("\n") > 1 for path in found)

        wait_for(at_it, limit_s=limit_s, what=launch)

    def over(self, limit_s: float = 400.0) -> Played:
        code = self.gate.finish(limit_s)
        left = wait_until_clean(list(self.stand.hosts.values()))
        return Played(code, self.gate.said(), self.folder, left)


@dataclass(frozen=True)
class Played:
    code: int
    said: str
    folder: Path
    left: dict[str, list[str]]  # host -> what of a gate was still there when patience had ended

    @property
    def verdict(self) -> dict[str, Any]:
        return read(self.folder / "verdict.json")

    def launch(self, name: str) -> dict[str, Any]:
        (path,) = self.folder.glob(f"launches/*-{name}/launch.json")
        return read(path)

    def ranks(self, node: int) -> list[str]:
        """Return the schedulers that were seen on a node, by rank."""
        rows = self.launch("arm-1")["environment"]["rows"]
        found = {
            row["process"] for row in rows if row["node"] == node and row["process"].startswith("scheduler")
        }
        return sorted(name.split()[1] for name in found)

    def log(self, launch: str, node: int) -> str:
        name = "server.log" if node == 0 else f"server-node{node}.log"
        (path,) = self.folder.glob(f"launches/*-{launch}/{name}")
        return path.read_text()


def run_on(stand: Stand, name: str, *argv: str) -> None:
    host = stand.hosts[name]
    subprocess.run(host.space.enter(list(argv), cwd=stand.folder), check=True, capture_output=True)


def refuse_on_node_1(stand: Stand) -> Played:
    """Play an NCCL that refuses a variable, on the box of node 1 alone."""
    state = str(stand.hosts["b"].state)
    box = (str(ROOT / "simbox/bin/python3"), "-m", "simbox.box")
    run_on(stand, "b", *box, "down", "--sim-state", state)
    run_on(stand, "b", *box, "up", "--sim-state", state, "--sim-scenario", "nccl-refused")
    try:
        return Playing(stand).over()
    finally:
        run_on(stand, "b", *box, "down", "--sim-state", state)


def lose_node_1(stand: Stand) -> Played:
    play = Playing(stand, tokens=LONG)
    b = stand.hosts["b"]
    play.wait_until("01-baseline")
    b.kill_servers()
    play.wait_until("02-arm-1")
    b.link("down")
    b.space.ip("link", "set", "mesh0", "down")
    code = play.gate.finish()
    left = wait_until_clean(list(stand.hosts.values()))
    b.space.ip("link", "set", "mesh0", "up")
    b.link("up")
    return Played(code, play.gate.said(), play.folder, left)


def lose_sshd(stand: Stand) -> Played:
    play = Playing(stand, tokens=LONG)
    play.wait_until("01-baseline")
    stand.hosts["b"].kill_sshd()
    code = play.gate.finish()
    left = wait_until_clean(list(stand.hosts.values()))
    stand.serve("b")
    return Played(code, play.gate.said(), play.folder, left)


def kill_gate(stand: Stand) -> dict[str, object]:
    play = Playing(stand, tokens=LONG)
    play.wait_until("01-baseline")
    before = {name: len(host.servers()) for name, host in stand.hosts.items()}
    os.kill(play.gate.process.pid, signal.SIGKILL)
    play.gate.finish()
    return {"before": before, "left": wait_until_clean(list(stand.hosts.values()))}
