"""A gate that is killed in mid-generation, on the pinned arm so that its answers are of use before.

Run as a program it starts the server, answers a few prompts, prints them, then has a long generation under way when
its parent kills it.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from pydantic import TypeAdapter

from tokgate.hosts.connection import connect
from tokgate.hosts.processes import marked, processes
from tokgate.records import Generation

from .engine import PINNED, ROOT, ask, engine_rig, serving

LONG = 1500  # tokens: tens of seconds
GONE_S = 15.0
GENERATIONS = TypeAdapter(tuple[Generation, ...])


@dataclass(frozen=True)
class Doomed:
    answers: tuple[Generation, ...]
    alive_before: int  # processes with its server's mark
    alive_after: tuple[str, ...]  # the same, when GONE_S had passed or none was left
    gone_after_s: float
    bystander_lives: bool


def doom(folder: Path, prompts: Sequence[tuple[int, ...]], *, tokens: int) -> Doomed:
    """Run the gate as its own process, kill it in mid-generation, and watch what is left of its server."""
    host = connect(engine_rig("golden").host)
    # Named as SGLang names its workers, and not ours.
    bystander = subprocess.Popen(["sglang::scheduler_TP0", "600"], executable="/bin/sleep")
    order = json.dumps({"folder": str(folder), "prompts": prompts, "tokens": tokens})
    gate = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.doomed_gate", order], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    try:
        assert gate.stdout is not None
        told = json.loads(gate.stdout.readline())
        assert gate.stdout.readline() == "generating\n"
        alive_before = len(marked(host, told["mark"]))
        gate.send_signal(signal.SIGKILL)
        killed = time.monotonic()
        while (left := marked(host, told["mark"])) and time.monotonic() < killed + GONE_S:
            time.sleep(0.1)  # between two looks at the process table
        return Doomed(
            answers=GENERATIONS.validate_python(told["answers"]),
            alive_before=alive_before,
            alive_after=tuple(p.cmdline for p in left),
            gone_after_s=time.monotonic() - killed,
            bystander_lives=any(p.pid == bystander.pid and p.state != "Z" for p in processes(host)),
        )
    finally:
        gate.kill()
        gate.communicate()
        bystander.kill()
        bystander.wait()


def _main(order: dict[str, Any]) -> None:
    prompts = [tuple(prompt) for prompt in order["prompts"]]
    with serving(engine_rig("golden"), PINNED, Path(order["folder"])) as server:
        answers = ask(server, prompts, tokens=order["tokens"])
        told = {"mark": server.run.mark, "answers": [answer.model_dump(mode="json") for answer in answers]}
        print(json.dumps(told), flush=True)
        body = {
            "input_ids": prompts[0],
            "sampling_params": {"temperature": 0, "max_new_tokens": LONG, "ignore_eos": True},
            "stream": True,
        }
        with httpx.stream(
            "POST",
            f"{server.run.base_url}/generate",
            json=body,
            headers={"Authorization": f"Bearer {server.target.api_key}"},
            timeout=120.0,
            trust_env=False,
        ) as response:
            for number, _ in enumerate(response.iter_lines()):
                if number == 0:
                    print("generating", flush=True)


if __name__ == "__main__":
    _main(json.loads(sys.argv[1]))
