"""One server run per fixture: it starts, is asked everything that any test wants to know, and stops.

So at most one server runs at a time, as even an idle one keeps a core busy, and the tests only look at what was said.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.golden import ContextPair, GoldenPair, load_pair
from tokgate.parsers.batch_lines import BatchLines, read_batch_lines
from tokgate.parsers.prometheus import Scrape, read_metrics
from tokgate.records import EnvironmentTruth, Generation, ServerRun, StopRecord
from tokgate.server.running import LOG_NAME

from .doomed_gate import Doomed, doom
from .engine import BUILT, NATURAL, PLAIN, ask, built, engine_rig, serving

TOKENS = 64
Prompts = tuple[tuple[int, ...], ...]


def prompts(count: int, *, seed: int) -> Prompts:
    """Draw prompts of 40 and more tokens that no other seed draws; ids from 4, which both pairs know."""
    draw = random.Random(seed)
    return tuple(tuple(draw.randint(4, 2047) for _ in range(40 + 3 * i)) for i in range(count))


# Four prompts one after another, and four others at once.
SINGLE, TOGETHER = prompts(4, seed=1), prompts(4, seed=2)


@dataclass(frozen=True)
class Told:
    """What one server run said, in answer to SINGLE and TOGETHER and about itself."""

    run: ServerRun
    single: tuple[Generation, ...]
    together: tuple[Generation, ...]
    environment: EnvironmentTruth
    metrics: Scrape
    log: BatchLines
    stop: StopRecord

    @property
    def answers(self) -> dict[tuple[int, ...], Generation]:
        return dict(zip(SINGLE + TOGETHER, self.single + self.together, strict=True))


@dataclass(frozen=True)
class Planted:
    """SINGLE again, on the same server: with each fault planted, and without any afterwards."""

    faulty: dict[str, tuple[Generation, ...]]
    carried_out: dict[str, int]
    after: tuple[Generation, ...]


@pytest.fixture(scope="session", autouse=True)
def _environment_is_built() -> None:
    if not built():
        pytest.fail("the SGLang CPU environment is not built: run `make sglang-cpu`", pytrace=False)


@pytest.fixture(scope="session")
def golden() -> GoldenPair:
    pair = load_pair(BUILT / "golden")
    assert isinstance(pair, GoldenPair)
    return pair


@pytest.fixture(scope="session")
def context() -> ContextPair:
    pair = load_pair(BUILT / "context")
    assert isinstance(pair, ContextPair)
    return pair


def _told(pair: str, arm: str, folder: Path, *, python: Path | None = None) -> Told:
    with serving(engine_rig(pair, python=python), arm, folder) as server:
        single = ask(server, SINGLE, tokens=TOKENS)
        together = ask(server, TOGETHER, tokens=TOKENS, at_once=4)
        metrics = read_metrics(server.control.metrics_text())
        environment = server.prove_environment(dict(server.run.line.environment))
        stop = server.stop()
    log = read_batch_lines((folder / LOG_NAME).read_text(encoding="utf-8"))
    return Told(server.run, single, together, environment, metrics, log, stop)


@pytest.fixture(scope="session")
def golden_plain(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return _told("golden", PLAIN, tmp_path_factory.mktemp("golden-plain"))


@pytest.fixture(scope="session")
def golden_eagle3(tmp_path_factory: pytest.TempPathFactory) -> Told:
    return _told("golden", NATURAL, tmp_path_factory.mktemp("golden-eagle3"))


@pytest.fixture(scope="session")
def context_plain(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """The context pair's control arm, started as if the gate did not know about setproctitle."""
    folder = tmp_path_factory.mktemp("context-plain")
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nunset SPT_NOENV\nexec "{BUILT}/venv/bin/python" "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return _told("context", PLAIN, folder, python=python)


@pytest.fixture(scope="session")
def context_eagle3(tmp_path_factory: pytest.TempPathFactory) -> tuple[tuple[Generation, ...], Planted]:
    """SINGLE and TOGETHER without a fault, then the faults."""
    folder = tmp_path_factory.mktemp("context-eagle3")
    order, log = folder / "plant", folder / "plant.log"
    with serving(engine_rig("context", plant_file=order), NATURAL, folder) as server:
        answers = ask(server, SINGLE, tokens=TOKENS) + ask(server, TOGETHER, tokens=TOKENS, at_once=4)
        faulty, carried_out = {}, {}
        for fault in ("wrong-position", "wrong-kv-slot once"):
            log.write_text("", encoding="utf-8")
            said: list[Generation] = []
            for prompt in SINGLE:
                order.write_text(fault, encoding="utf-8")
                said += ask(server, (prompt,), tokens=TOKENS)
            faulty[fault] = tuple(said)
            carried_out[fault] = len(log.read_text(encoding="utf-8").splitlines())
        order.unlink()
        after = ask(server, SINGLE, tokens=TOKENS)
    return answers, Planted(faulty, carried_out, after)


@pytest.fixture(scope="session")
def doomed(tmp_path_factory: pytest.TempPathFactory) -> Doomed:
    return doom(tmp_path_factory.mktemp("doomed"), SINGLE, tokens=TOKENS)
