"""A checkout with one rig, in a temporary folder, and the gate run in it as a user runs it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .machine import Machine, Program, wait_for

ROOT = Path(__file__).parents[2]
RIG = "standin"
CONTROL = "01-baseline"

_RIG = """
schema_number = 1
name = "standin"
description = "a stand-in for SGLang that costs no GPU"
simulated = true

[host]
python = "{python}"
work_dir = "{root}/work"
command_timeout_s = 60

[gpus]
count = 0
wait_s = 4

[server]
python = "{python}"
module = "standin.launch_server"
model_path = "{root}/model"
start_timeout_s = 60
silence_timeout_s = 30
stop_timeout_s = 20
time_limit_s = 300

[server.args]
tp_size = 1
host = "0.0.0.0"
port = 30000

[server.environment]
PYTHONPATH = "{standin}"
STANDIN_STAMPS = "{root}/stamps"
STANDIN_PACE = "{root}/pace"

[server.nccl]
NCCL_PROTO = "LL"

[instruments]
skip = "a stand-in has no phases"

# A session is then as long as its plan; where restarts are looked for, a story switches them on.
[sampling]
gpu_time_s = 0

{arms}

[prompt_sets.short]
kind = "token-ids"
length = 16
first_id = 3
last_id = 1999

[prompt_sets.other]
kind = "token-ids"
length = 12
first_id = 3
last_id = 1999
seed = 5

[[workloads]]
name = "single"
prompts = "short"
output_tokens = 24
repeats = 6
timeout_s = 3

{pair}

[lossless]
mode = "exact"
prompts = "short"
count = 2
output_tokens = 24

[[budgets]]
metric = "decode_tok_s"
workload = "single"
at_least = 100

[[twins]]
workload = "single"
at_least = 1.2

# The stand-in's own counters are exact; what the client saw depends on how busy this machine is.
[floors]
client_decode_tok_s = {{ relative = 1.0 }}
total_tok_s = {{ relative = 1.0 }}
ttft_ms = {{ relative = 100.0 }}
tpot_ms = {{ relative = 100.0 }}
e2e_ms = {{ relative = 100.0 }}
"""

_PAIR = """
[[workloads]]
name = "pair"
prompts = "other"
concurrency = 2
output_tokens = 12
repeats = 5
timeout_s = 3
cache = "unique"
"""

_BASELINE = """
[[arms]]
name = "baseline"
kind = "baseline"
"""

_EAGLE3 = """
[[arms]]
name = "{name}"
kind = "eagle3"
draft_model_path = "{root}/draft"
num_steps = 2
topk = 1
num_draft_tokens = 3
environment = {{ {environment} }}
"""


class Checkout:
    """`arms`: name -> the fault ordered there, "" for none; they come after a baseline arm without any.

    `pair` adds a workload of two streams to the single one.
    """

    def __init__(self, root: Path, machine: Machine, arms: Mapping[str, str], *, pair: bool = False) -> None:
        self.root = root
        self.machine = machine
        self.rig = root / "rigs" / f"{RIG}.toml"
        self.stamps = root / "stamps"
        self.pace = root / "pace"
        for folder in ("perf_tests", "fixtures"):
            shutil.copytree(ROOT / folder, root / folder)
        for file in ("conftest.py", "pyproject.toml"):
            shutil.copy(ROOT / file, root / file)
        for folder in ("rigs", "model", "draft", "tests"):
            (root / folder).mkdir()
        (root / "model" / "config.json").write_text('{"architectures": ["LlamaForCausalLM"]}')
        (root / "draft" / "config.json").write_text('{"architectures": ["LlamaForCausalLMEagle3"]}')
        speculative = [
            _EAGLE3.format(name=name, root=root, environment=f'STANDIN_FAULT = "{fault}"' if fault else "")
            for name, fault in arms.items()
        ]
        text = _RIG.format(
            root=root,
            python=sys.executable,
            standin=Path(__file__).parent,
            arms="".join([_BASELINE, *speculative]),
            pair=_PAIR if pair else "",
        )
        self.rig.write_text(text)

    def start_gate(self, *arguments: str, selection: Sequence[str] = ("-m", "eagle3")) -> Program:
        """Begin `pytest perf_tests` there."""
        return self._start("pytest", "perf_tests", "--rig", str(self.rig), *selection, *arguments)

    def gate(self, *arguments: str, selection: Sequence[str] = ("-m", "eagle3")) -> GateRun:
        """Run `pytest perf_tests` there to its end."""
        return self.finished(self.start_gate(*arguments, selection=selection))

    def finished(self, program: Program, latest: Path | None = None) -> GateRun:
        code, said = program.finish()
        return GateRun.over(self, code, said, latest.resolve() if latest else self.newest())

    def newest(self) -> Path:
        """Return the run folder made last; `latest` passes over runs that launched nothing."""
        return max(
            path for path in (self.root / "reports").iterdir() if path.name not in ("latest", "history")
        )

    def judged_again(self, run: GateRun) -> GateRun:
        """Run `tokgate report` on a run's folder, which writes the reports in it anew."""
        code, said = self.run("tokgate", "report", str(run.folder))
        return GateRun.over(self, code, said, run.folder)

    def wait_until_measuring(self) -> Path:
        """Return the run folder of the newest gate, once it holds a few generations of the first launch."""
        latest = self.root / "reports" / "latest"
        before = latest.resolve() if (latest / "verdict.json").exists() else None

        def begun() -> Path | None:
            now = latest.resolve()
            kept = now / "launches" / CONTROL / "generations.jsonl"
            return now if now != before and kept.exists() and kept.read_text().count("\n") > 2 else None

        folder: Path = wait_for(begun, limit_s=60)
        return folder

    @contextlib.contextmanager
    def taken_port(self) -> Iterator[int]:
        """A port that a stranger of this machine listens on while the block runs."""
        listen = (
            "import signal, socket; s = socket.create_server(('127.0.0.1', 0));"
            "print(s.getsockname()[1], flush=True); signal.pause()"
        )
        stranger = self.machine.start(
            [sys.executable, "-S", "-c", listen], cwd=self.root, stdout=subprocess.PIPE, text=True
        )
        yield int(stranger.hear())
        stranger.end()

    def run(self, command: str, *arguments: str) -> tuple[int, str]:
        """Run a command of this environment's there to its end."""
        return self._start(command, *arguments).finish()

    def _start(self, command: str, *arguments: str) -> Program:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        environment |= {"PYTHONPATH": str(ROOT), "COLUMNS": "200"}
        return self.machine.start(
            [str(Path(sys.executable).with_name(command)), *arguments],
            cwd=self.root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def servers(self) -> list[dict[str, Any]]:
        """What the servers themselves wrote down: {"event": "start" or "stop", "pid", "key"}, in order."""
        if not self.stamps.exists():
            return []
        return [json.loads(line) for line in self.stamps.read_text().splitlines()]


@dataclass(frozen=True)
class GateRun:
    """A gate session that is over, as a user finds it."""

    checkout: Checkout
    code: int
    said: str
    folder: Path
    verdict: dict[str, Any]  # verdict.json as it was then: judging again writes another

    @classmethod
    def over(cls, checkout: Checkout, code: int, said: str, folder: Path) -> GateRun:
        assert (folder / "verdict.json").is_file(), said
        return cls(checkout, code, said, folder, json.loads((folder / "verdict.json").read_text()))

    @property
    def outcome(self) -> str:
        return str(self.verdict["outcome"])

    def verdicts(self, **wanted: str | None) -> list[dict[str, Any]]:
        """Return the verdicts whose fields are as wanted: check, arm, launch, workload, outcome."""
        return [v for v in self.verdict["verdicts"] if all(v[k] == x for k, x in wanted.items())]

    def outcomes(self, **wanted: str | None) -> set[str]:
        return {v["outcome"] for v in self.verdicts(**wanted)}

    def launch(self, launch_id: str) -> dict[str, Any]:
        """Return what launch.json holds of one launch."""
        told: dict[str, Any] = json.loads((self.folder / "launches" / launch_id / "launch.json").read_text())
        return told

    @property
    def launched(self) -> list[str]:
        return sorted(path.name for path in (self.folder / "launches").glob("*"))

    def log(self, launch_id: str) -> str:
        return (self.folder / "launches" / launch_id / "server.log").read_text()
