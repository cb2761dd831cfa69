"""The probe inside the real SGLang of the CPU rig: counts exactly as SGLang counts, and sees planted time where it is.

One server per arm does everything, and its file is read when it has stopped; which calls belong to which answer the
stamps say.
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from tests.engine.conftest import prompts
from tests.engine.engine import NATURAL, PLAIN, ROOT, SLOW, ask, built, engine_rig, serving
from tokgate.records import Generation
from tokgate.stats.summary import summarise

pytestmark = [pytest.mark.engine, pytest.mark.alone]

TOKENS = 48
PHASES = ("draft", "verify", "draft_extend")
PLANTED_MS = 30.0


@dataclass(frozen=True)
class Answer:
    what: str  # "on", "off", or the order planted
    generation: Generation
    calls: tuple[list[Any], ...]

    def alternation_ms(self, phase: str) -> float:
        """By how much every second call is longer than its neighbour, typically: a busy machine slows both."""
        took = [ms for name, ms, *_ in self.calls if name == phase]
        apart = [(b - a) * (-1) ** i for i, (a, b) in enumerate(pairwise(took))]
        return float(median(apart))


@dataclass(frozen=True)
class Seen:
    header: dict[str, Any]
    end: dict[str, Any]
    files: int
    answers: tuple[Answer, ...]

    def of(self, *what: str) -> list[Answer]:
        return [answer for answer in self.answers if answer.what in what]


def watch(arm: str, folder: Path, cases: tuple[str, ...], *, turns: int = 2) -> Seen:
    if not built():
        pytest.fail("the SGLang CPU environment is not built: run `make sglang-cpu`", pytrace=False)
    switch, order, out = folder / "switch", folder / "order", folder / "probe"
    switch.write_bytes(b"1")
    order.write_text("")
    out.mkdir()
    rig = engine_rig("golden")
    environment = {
        **rig.server.environment,
        "PYTHONPATH": f"{rig.server.environment['PYTHONPATH']}:{ROOT / 'probe'}:{SLOW}",
        "TOKGATE_PROBE_OUT": str(out),
        "TOKGATE_PROBE_SWITCH": str(switch),
        "TOKGATE_PLANT": f"@{order}",
    }
    rig = rig.model_copy(update={"server": rig.server.model_copy(update={"environment": environment})})
    said: list[tuple[str, Generation, int, int]] = []
    with serving(rig, arm, folder) as server:
        ask(server, prompts(1, seed=11), tokens=TOKENS)  # and whatever readiness was asked with is over
        for prompt in prompts(turns, seed=12):
            for what in cases:
                order.write_text(what if ":" in what else "")
                handle = os.open(switch, os.O_WRONLY)
                os.pwrite(handle, b"0" if what == "off" else b"1", 0)
                os.close(handle)
                began = time.monotonic_ns()
                (generation,) = ask(server, (prompt,), tokens=TOKENS)
                said.append((what, generation, began, time.monotonic_ns()))
        server.stop()
    files = [[json.loads(line) for line in file.read_text().splitlines()] for file in out.iterdir()]
    header, *calls, end = files[0]
    answers = tuple(
        Answer(what, generation, tuple(c for c in calls if isinstance(c, list) and began < c[4] < ended))
        for what, generation, began, ended in said
    )
    return Seen(header, end, len(files), answers)


@pytest.fixture(scope="module")
def eagle3(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    planted = tuple(f"{phase}:+{PLANTED_MS:g}ms/2" for phase in (*PHASES, "rest"))
    return watch(NATURAL, tmp_path_factory.mktemp("eagle3"), ("on", "off", *planted))


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return watch(PLAIN, tmp_path_factory.mktemp("plain"), ("on", "off", f"decode:+{PLANTED_MS:g}ms/2"))


def test_only_the_scheduler_writes_and_it_says_what_it_hooked(eagle3: Seen, plain: Seen) -> None:
    assert eagle3.files == plain.files == 1
    hooked = {entry.split()[0] for entry in eagle3.header["hooked"]}
    assert hooked == {*PHASES, "step", "decode"}
    assert [entry.split()[0] for entry in plain.header["hooked"]] == ["decode"]
    for seen in (eagle3, plain):
        assert (seen.header["sglang"], seen.header["clock"], seen.header["rank"]) == ("0.5.23", "host", 0)
        assert seen.header["broken"] == {}
        assert seen.end["dropped"] == 0


def test_every_verify_call_of_sglangs_own_count_is_there(eagle3: Seen) -> None:
    for answer in eagle3.answers:
        assert answer.generation.counters is not None
        assert answer.generation.counters.spec is not None
        count = 0 if answer.what == "off" else answer.generation.counters.spec.verify_ct
        wanted = dict.fromkeys((*PHASES, "step"), count) if count else {}
        assert Counter(phase for phase, *_ in answer.calls) == wanted
        assert {(requests, graph) for phase, _, requests, graph, _ in answer.calls if phase == "verify"} <= {
            (1, 0)
        }


def test_every_plain_decode_is_there(plain: Seen) -> None:
    for answer in plain.answers:
        wanted = {} if answer.what == "off" else {"decode": TOKENS - 1}  # the first token is prefill's
        assert Counter(phase for phase, *_ in answer.calls) == wanted


def test_the_phases_are_within_the_steps_and_the_steps_within_the_answer(eagle3: Seen) -> None:
    for answer in eagle3.of("on"):
        phases = sum(ms for phase, ms, *_ in answer.calls if phase != "step")
        steps = sum(ms for phase, ms, *_ in answer.calls if phase == "step")
        assert answer.generation.counters is not None
        assert answer.generation.counters.e2e_latency_s is not None
        assert 0.9 * steps < phases < steps < 1e3 * answer.generation.counters.e2e_latency_s


@pytest.mark.parametrize("slow", [*PHASES, "rest"])
def test_planted_time_is_seen_in_its_phase_and_in_no_other(eagle3: Seen, slow: str) -> None:
    for answer in eagle3.of(f"{slow}:+{PLANTED_MS:g}ms/2"):
        longer = {phase: answer.alternation_ms(phase) for phase in (*PHASES, "step")}
        longer["rest"] = longer["step"] - sum(longer[phase] for phase in PHASES)
        # Half of what was planted is the line between here and elsewhere.
        assert {phase for phase, ms in longer.items() if abs(ms) > PLANTED_MS / 2} == {slow, "step"}


def test_planted_time_is_seen_in_plain_decodes(plain: Seen) -> None:
    for answer in plain.of(f"decode:+{PLANTED_MS:g}ms/2"):
        assert abs(answer.alternation_ms("decode")) > PLANTED_MS / 2
    for answer in plain.of("on"):
        assert abs(answer.alternation_ms("decode")) < PLANTED_MS / 2


# ---------------------------------------------------------------- a tenth of a phase
TENTHS = {phase: f"{phase}:+10%/2" for phase in PHASES} | {"rest": "rest:+2ms/2"}
TURNS = 10  # some 250 cycles each
# What a busy CPU adds: work behind a pause of milliseconds is slower by 0.1 to 0.4 ms, whoever paused.
ELSEWHERE, ELSEWHERE_MS = 0.05, 0.5


@pytest.fixture(scope="module")
def tenths(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    return watch(NATURAL, tmp_path_factory.mktemp("tenths"), tuple(TENTHS.values()), turns=TURNS)


def apart(answers: list[Answer], phase: str) -> list[float]:
    """Return ms by which each slowed cycle's phase is longer than the one before; the plant slows every second call."""
    found: list[float] = []
    number = 0  # of the calls under this order
    for answer in answers:
        took = _took(answer, phase)
        found += [
            after - before
            for at, (before, after) in enumerate(pairwise(took), start=number + 1)
            if (at + 1) % 2 == 0  # calls are counted from 1
        ]
        number += len(took)
    return found


def _took(answer: Answer, phase: str) -> list[float]:
    if phase != "rest":
        return [ms for name, ms, *_ in answer.calls if name == phase]
    steps = [ms for name, ms, *_ in answer.calls if name == "step"]
    parts = zip(*(_took(answer, inner) for inner in PHASES), strict=True)
    return [step - sum(inner) for step, inner in zip(steps, parts, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("slow", [*PHASES, "rest"])
def test_a_tenth_is_attributed_to_its_phase(tenths: Seen, slow: str) -> None:
    answers = tenths.of(TENTHS[slow])
    for phase in (*PHASES, "rest"):
        longer = summarise(apart(answers, phase))
        assert longer.n > 100
        assert longer.interval is not None
        typical = median(ms for answer in answers for ms in _took(answer, phase))
        planted_ms = 0.0 if phase != slow else 2.0 if slow == "rest" else 0.1 * typical
        words = f"{slow} was planted; {phase}: {longer.median:.3f} ms, {longer.interval}, of {typical:.3f}"
        if phase == slow:
            assert longer.interval[0] > 0.5 * planted_ms, words
            assert longer.interval[1] < 1.7 * planted_ms + ELSEWHERE_MS, words
        elif not (slow == "rest" and phase == "draft"):  # the draft is what comes behind the pause
            assert abs(longer.median) < max(ELSEWHERE * typical, 0.2), words
