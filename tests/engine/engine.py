"""Real servers of the CPU rig, started, asked and stopped by the gate's own rooms."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tokgate.client.interpret import interpret
from tokgate.client.prompts import PromptValue, payload
from tokgate.client.stream import Request, run_batch
from tokgate.hosts.connection import connect
from tokgate.records import Generation, Launch
from tokgate.records.redactor import Redactor
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.server.launch import RunningServer, start

ROOT = Path(__file__).parents[2]
BUILT = ROOT / ".sglang-cpu"
PLANT = ROOT / "tests" / "plant"  # of faults
SLOW = ROOT / "plant"
PLAIN, NATURAL, PINNED = "baseline", "eagle3-2step", "eagle3-2step-pinned"
DRAFT_STEPS = 2
TIMEOUT_S = 120.0


def built() -> bool:
    """Say whether the environment is there and whole."""
    return all((BUILT / stamp).exists() for stamp in ("venv.stamp", "models.stamp"))


def engine_rig(pair: str, *, plant_file: Path | None = None, python: Path | None = None) -> Rig:
    """Return the CPU rig with another pair (golden, context), another interpreter, or the plant loaded."""
    rig = load_rig("sglang-cpu", root=ROOT)
    folder = BUILT / pair
    arms = tuple(
        arm.model_copy(update={"draft_model_path": str(folder / "draft")}) if arm.draft_model_path else arm
        for arm in rig.arms
    )
    environment = dict(rig.server.environment)
    if plant_file is not None:
        environment["PYTHONPATH"] += f":{PLANT}"
        environment["PLANT_FILE"] = str(plant_file)
    server = rig.server.model_copy(
        update={
            "model_path": str(folder / "model"),
            "environment": environment,
            "python": str(python) if python else rig.server.python,
        }
    )
    return rig.model_copy(update={"arms": arms, "server": server})


def with_tree(rig: Rig, arm: str, *, steps: int, topk: int, tokens: int) -> Rig:
    """Return the rig with another shape of drafts for `arm`."""
    shape = {"num_steps": steps, "topk": topk, "num_draft_tokens": tokens}
    arms = tuple(a.model_copy(update=shape) if a.name == arm else a for a in rig.arms)
    return rig.model_copy(update={"arms": arms})


@contextmanager
def serving(rig: Rig, arm: str, folder: Path) -> Iterator[RunningServer]:
    """Run one server; at the end it is stopped and its log lies in `folder`."""
    redactor = Redactor()
    server = start(
        connect(rig.host, redactor=redactor),
        rig,
        Launch(id=f"01-{arm}", arm=arm, role="control" if arm == PLAIN else "arm"),
        mark=f"tests-engine/{uuid.uuid4().hex[:8]}",
        redactor=redactor,
        folder=folder,
    )
    try:
        yield server
    finally:
        server.stop()
        server.collect(folder)


def ask(
    server: RunningServer, prompts: Sequence[tuple[int, ...]], *, tokens: int, at_once: int = 1
) -> tuple[Generation, ...]:
    """Ask for exactly `tokens` greedy tokens each, `at_once` prompts in every barrier start."""
    answers: list[Generation] = []
    for first in range(0, len(prompts), at_once):
        requests = []
        for prompt in prompts[first : first + at_once]:
            name = uuid.uuid4().hex
            body = payload("generate", PromptValue(ids=prompt), output_tokens=tokens, request_id=name)
            requests.append(Request(name, "generate", body, tokens))
        outcome = run_batch(server.target, requests, timeout_s=TIMEOUT_S)
        answers += [
            interpret(raw, launch=server.run.launch.id, workload="engine", index=first + slot, slot=slot)
            for slot, raw in enumerate(outcome.responses)
        ]
    bad = [f"{answer.status}: {answer.why}" for answer in answers if not answer.good]
    assert not bad, bad
    return tuple(answers)
