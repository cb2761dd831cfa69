"""A whole sweep on the simulated box: each setting's numbers are the box's own, and so is the best of them."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

import pytest

from simbox.truth_reader import Run, read

from .gate_run import GateRun, play, rejudge
from .playing import on_time
from .selecting import one_stream

pytestmark = pytest.mark.slow

WITHIN = 0.01
TOKENS, STARTS = 128, 8  # prompts differ in what is accepted of them: short answers would hide the lead


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> GateRun:
    folder = tmp_path_factory.mktemp("sweep")
    settings = (
        *one_stream(tokens=TOKENS, repeats=STARTS),
        "sweep.num_steps=[2, 3]",
        "sweep.topk=[1, 2]",
        "sweep.num_draft_tokens=[12]",
        "sweep.most=4",
    )
    return on_time(lambda attempt: play(folder / attempt, [], "-m", "sweep", settings=settings))


def rows(run: GateRun) -> dict[str, dict[str, Any]]:
    return {row["words"]: row for row in run.verdict["sweep"]["rows"]}


def truth(run: GateRun) -> dict[str, Run]:
    """Return what each setting's server really did; the first and the last are the twins."""
    assert run.state is not None
    starts = read(run.state)
    settings = sorted(rows(run).values(), key=lambda row: str(row["launch"]))
    assert len(starts) == len(settings) + 2
    return {row["words"]: start for row, start in zip(settings, starts[1:-1], strict=True)}


def really(run: Run, what: str) -> float:
    """Return a median over the judged requests: the first so long is the warm-up."""
    long = [r for r in run.requests if r["completion_tokens"] == TOKENS]
    assert len(long) == 1 + STARTS
    return float(statistics.median(r[what] for r in long[1:]))


def test_each_setting_was_launched_between_two_controls(played: GateRun) -> None:
    launches = sorted(path.name.partition("-")[2] for path in (played.folder / "launches").iterdir())
    assert launches == ["sweep-control", "sweep-control-again", "sweep-s2-k1-t3", "sweep-s3-k1-t4"]


def test_each_number_is_the_boxs(played: GateRun) -> None:
    for words, start in truth(played).items():
        row = rows(played)[words]
        assert row["tok_s"] == pytest.approx(really(start, "decode_tok_s"), rel=WITHIN), words
        assert row["cycle_ms"] == pytest.approx(really(start, "cycle_ms"), rel=WITHIN), words


def test_the_best_is_the_boxs(played: GateRun) -> None:
    speeds = {words: really(start, "decode_tok_s") for words, start in truth(played).items()}
    (best,) = played.verdict["sweep"]["best"]
    first, second = sorted(speeds.values(), reverse=True)[:2]
    assert best["best"] == max(speeds, key=lambda words: speeds[words]) == "2 steps"
    assert best["told_apart"], best["words"]
    assert best["lead"] == pytest.approx(first / second - 1, abs=WITHIN)
    assert played.code == 0, played.told()
    assert "single: 2 steps best, by" in played.verdict["headline"]
    assert "sweep of eagle3-2step, single: 2 steps best, by" in played.said


def test_what_no_server_could_run_is_named(played: GateRun) -> None:
    assert [out["setting"]["num_draft_tokens"] for out in played.verdict["sweep"]["left_out"]] == [12, 12]
    assert "sweep without 2 steps, topk 2, 12 tokens: so small a tree has at most 7 tokens" in " ".join(
        played.said.replace("tokgate  ", " ").split()
    )


def test_none_of_it_is_a_number_of_an_arm_as_written(played: GateRun) -> None:
    assert played.verdict["arms"] == []
    assert not (played.folder / "baselines").exists()


def test_the_folder_alone_says_the_same_again(played: GateRun) -> None:
    again = rejudge(played.folder, "-m", "sweep")
    assert again.code == played.code, again.said
    assert again.verdict["sweep"] == played.verdict["sweep"]


def test_the_summary_shows_it(played: GateRun) -> None:
    summary = Path(played.folder / "summary.md").read_text(encoding="utf-8")
    assert "## Sweep of eagle3-2step" in summary
    assert "2 steps (best, as written)" in summary
