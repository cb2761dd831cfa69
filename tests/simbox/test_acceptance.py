"""Acceptance is the prompt's own, and pinned when SGLang's variables say so."""

from __future__ import annotations

import dataclasses
import statistics

import pytest

from simbox.acceptance import Acceptance, pin
from simbox.knobs import Knobs


def walk(acceptance: Acceptance, tokens: int) -> list[int]:
    position, taken = 0, []
    while position < tokens:
        taken.append(acceptance.accepted())
        position += taken[-1] + 1
    return taken


def test_the_mean_is_the_incidents() -> None:
    lengths = [1 + a for seed in range(60) for a in walk(Acceptance(Knobs(), prompt_seed=seed, steps=2), 256)]
    assert sum(lengths) / len(lengths) == pytest.approx(1.85, abs=0.03)


def test_a_prompt_is_accepted_the_same_way_every_time() -> None:
    first, second = (walk(Acceptance(Knobs(), prompt_seed=7, steps=2), 200) for _ in range(2))
    other = walk(Acceptance(Knobs(), prompt_seed=8, steps=2), 200)
    assert first == second != other


def test_a_worse_drafter_is_accepted_less() -> None:
    worse = dataclasses.replace(Knobs(), accept_p=0.27)
    assert sum(walk(Acceptance(worse, prompt_seed=1, steps=2), 2000)) < 0.6 * sum(
        walk(Acceptance(Knobs(), prompt_seed=1, steps=2), 2000)
    )


def test_short_answers_say_what_long_ones_would() -> None:
    def lengths(knobs: Knobs) -> list[float]:
        walks = [walk(Acceptance(knobs, prompt_seed=seed, steps=2), 128) for seed in range(40)]
        return [1 + statistics.mean(taken) for taken in walks]

    tossed = dataclasses.replace(Knobs(), accept_block=1)
    assert statistics.stdev(lengths(tossed)) > 3 * statistics.stdev(lengths(Knobs()))


def test_a_tree_is_accepted_more_as_far_as_its_tokens_go() -> None:
    def mean(*, topk: int, tokens: int) -> float:
        walks = [
            walk(Acceptance(Knobs(), prompt_seed=seed, steps=2, topk=topk, draft_tokens=tokens), 256)
            for seed in range(20)
        ]
        return statistics.mean(a for taken in walks for a in taken)

    chain = mean(topk=1, tokens=3)
    assert mean(topk=4, tokens=3) == chain  # no room for a sibling
    assert chain < mean(topk=4, tokens=5) < mean(topk=4, tokens=8)
    assert mean(topk=4, tokens=9) == mean(topk=4, tokens=21)  # no more than four a step


@pytest.mark.parametrize(("length", "low", "high"), [("2.0", 2.0, 2.0), ("1.5", 1.4, 1.6), ("9", 3.0, 3.0)])
def test_a_pinned_length(length: str, low: float, high: float) -> None:
    pinned = pin({"SGLANG_SIMULATE_ACC_LEN": length})
    taken = walk(Acceptance(Knobs(), prompt_seed=1, steps=2, pinned=pinned), 2000)
    assert low <= 1 + sum(taken) / len(taken) <= high


@pytest.mark.parametrize("value", ["-1", "", "odd"])
def test_no_pin(value: str) -> None:
    assert pin({"SGLANG_SIMULATE_ACC_LEN": value}) is None
    assert pin({}) is None
