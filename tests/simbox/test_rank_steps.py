"""A rank spends what it was told, whether it was told in time or not, and writes down what it really spent."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from simbox.rank_steps import LAG_NS, Device, RankSteps, RankTruth
from simbox.step_feed import Announced

PHASES = {"draft": 1_000_000, "verify": 3_000_000, "draft_extend": 1_000_000, "host": 500_000}
CYCLE_NS = sum(PHASES.values())


def cycle(number: int, began_ns: int) -> Announced:
    return Announced("verify", number, 1, graph=True, began_ns=began_ns, phases_ns=PHASES)


@pytest.fixture
def rank(tmp_path: Path) -> RankSteps:
    device = Device()

    def forward(batch: Any) -> None:
        del batch
        for phase in ("draft", "verify", "draft_extend"):
            device.run(phase)

    truth = RankTruth(tmp_path / "run" / "rank-3.jsonl", rank=3, pid=77)
    return RankSteps(device=device, truth=truth, forward=forward, batch_of=lambda step: step, rank=0)


def written(tmp_path: Path) -> list[Any]:
    return [json.loads(line) for line in (tmp_path / "run" / "rank-3.jsonl").read_text().splitlines()]


def test_what_it_spent_is_written_down(rank: RankSteps, tmp_path: Path) -> None:
    began = time.monotonic_ns()
    for number in (1, 2):
        rank.run(cycle(number, began + (number - 1) * CYCLE_NS))
    ended = time.monotonic_ns()
    rank.pause()
    head, first, second = written(tmp_path)
    assert (head["rank"], head["pid"]) == (3, 77)
    assert first[:3] == [1, "verify", [1.0, 3.0, 1.0]]
    assert all(spent >= told for told, spent in zip(first[2], first[3], strict=True))
    assert first[4] > 0.0
    assert second[4] is None, "a pause is no rest"
    # Never before its time, which is a distance behind main's.
    assert ended - began >= LAG_NS + 2 * CYCLE_NS - PHASES["host"]
    assert sum(first[3]) + first[4] + sum(second[3]) <= (ended - began) / 1e6


def test_told_too_late_it_begins_later_and_spends_the_same(rank: RankSteps, tmp_path: Path) -> None:
    rank.run(cycle(1, time.monotonic_ns() - 50_000_000))
    rank.pause()
    (_, line) = written(tmp_path)
    assert all(spent >= told for told, spent in zip(line[2], line[3], strict=True))


def test_a_folder_that_is_gone_is_survived(rank: RankSteps, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("in the way")
    rank.run(cycle(1, time.monotonic_ns()))
    rank.pause()
