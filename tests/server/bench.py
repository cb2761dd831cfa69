"""A rig whose server is the stand-in, and a place to start it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tokgate.hosts.connection import Host
from tokgate.records import Launch
from tokgate.records.redactor import Redactor
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.server.launch import RunningServer, start

STANDINS = Path(__file__).parent / "standins"
LAUNCH = Launch(id="01-baseline", arm="baseline", role="control")


def standin_rig(host: HostSpec, *misbehave: str, server: dict[str, Any] | None = None, **args: Any) -> Rig:
    """`server` changes the [server] table, `args` the server's arguments."""
    arguments = {**({"misbehave": misbehave} if misbehave else {}), **args}
    return Rig.model_validate(
        {
            "name": "standin",
            "simulated": True,
            "host": host.model_dump(),
            "gpus": {"count": 0},
            "server": {
                "python": sys.executable,
                "module": "standin_sglang",
                "model_path": "/models/none",
                "args": arguments,
                "environment": {"PYTHONPATH": str(STANDINS), "NCCL_ALGO": "Ring"},
                "start_timeout_s": 20,
                "silence_timeout_s": 20,
                "stop_timeout_s": 5,
                **(server or {}),
            },
            "arms": [{"name": "baseline", "kind": "baseline"}],
            "prompt_sets": {"ids": {"kind": "token-ids", "length": 8, "first_id": 3, "last_id": 99}},
            "workloads": [{"name": "single", "prompts": "ids", "output_tokens": 16, "repeats": 1}],
        }
    )


class Bench:
    """One host, one folder for what comes back, and every server started there."""

    def __init__(self, host: Host, redactor: Redactor, mark: str, folder: Path) -> None:
        self.host = host
        self.redactor = redactor
        self.mark = mark
        self.folder = folder
        self.started: list[RunningServer] = []

    def start(self, *misbehave: str, server: dict[str, Any] | None = None, **args: Any) -> RunningServer:
        rig = standin_rig(self.host.spec, *misbehave, server=server, **args)
        running = start(self.host, rig, LAUNCH, mark=self.mark, redactor=self.redactor, folder=self.folder)
        self.started.append(running)
        return running

    @property
    def log(self) -> str:
        return (self.folder / "server.log").read_text()
