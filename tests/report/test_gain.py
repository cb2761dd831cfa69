from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.verdicts.evidence import controls, make_launch, make_rig, make_run, series
from tokgate.records import Generation, LaunchEvidence, Role
from tokgate.report.closing import lines
from tokgate.report.gain import COLUMNS, Gain, gains, rows, series_of
from tokgate.report.html_section import page
from tokgate.report.summary_md import render
from tokgate.report.verdict_json import build
from tokgate.rig.models import Rig

TWIN = (44.6, 44.5, 44.7, 44.6, 44.4, 44.8)


def workload(name: str, concurrency: int, **changes: Any) -> dict[str, Any]:
    fields = {"prompts": "ids", "output_tokens": 256, "repeats": 6, "concurrency": concurrency}
    return {"name": name, **fields, **changes}


def levels(*concurrencies: int, **changes: Any) -> Rig:
    return make_rig(workloads=[workload(f"c{c}", c, **changes) for c in concurrencies])


def launch(role: Role, name: str, arm: str, factors: dict[int, float], tokens: int = 256) -> LaunchEvidence:
    """Streams of every level, each `factor` times as fast as the twin's."""
    generations: tuple[Generation, ...] = ()
    for concurrency, factor in factors.items():
        generations += series(
            tuple(v * factor for v in TWIN),
            launch=name,
            workload=f"c{concurrency}",
            concurrency=concurrency,
            verify_ct=None if arm == "baseline" else 138,
            tokens=tokens,
        )
    made = make_launch(generations, id=name, arm=arm, role=role)
    return made.model_copy(
        update={"client": {f"c{c}": load for c in factors for load in (made.client["single"],)}}
    )


def session(**factors: float) -> tuple[LaunchEvidence, ...]:
    by_level = {int(name[1:]): factor for name, factor in factors.items()}
    plain = dict.fromkeys(by_level, 1.0)
    return (
        launch("control", "01-baseline", "baseline", plain),
        launch("arm", "02-eagle3-2step", "eagle3-2step", by_level),
        launch("control-again", "03-baseline-again", "baseline", plain),
    )


def found(rig: Rig, *launches: LaunchEvidence) -> Gain:
    (gain,) = gains(rig, make_run(*launches))
    return gain


def test_where_it_stops_winning_lies_between_two_measured_levels() -> None:
    gain = found(levels(1, 4, 8), *session(c1=1.4, c4=1.0, c8=0.8))
    assert (gain.gain.wins_up_to, gain.gain.stops_at) == (1, 8)
    assert [level.wins for level in gain.gain.levels] == [True, None, False]
    assert gain.metrics == {1: "decode_tok_s", 4: "total_tok_s", 8: "total_tok_s"}
    assert gain.gain.levels[0].ratio == pytest.approx(1.4)
    assert gain.gain.levels[0].n == (6, 12)
    assert gain.warnings == ()
    first = dict(zip(COLUMNS, next(rows([gain])), strict=True))
    assert (first["at once"], first["speed-up"], first["so it"]) == ("1", "1.400", "wins")


def test_the_interval_holds_the_drift_between_the_controls_as_the_twin_check_does() -> None:
    first, arm, _ = session(c1=1.05)
    later = launch("control-again", "03-baseline-again", "baseline", {1: 1.1})
    assert found(levels(1), first, arm, later).gain.levels[0].wins is None
    assert found(levels(1), first, arm).gain.levels[0].wins is True


def test_a_level_that_may_not_be_judged_is_unknown_with_its_reason() -> None:
    first, arm, again = session(c1=1.4, c4=0.8)
    cut = arm.model_copy(update={"generations": arm.generations[:-4]})
    gain = found(levels(1, 4), first, cut, again)
    assert [level.concurrency for level in gain.gain.levels] == [1]
    assert "good generations of c4" in gain.gain.unknown[4]
    assert "was not measured" in gain.gain.words
    alone = found(levels(1, 4), arm)
    assert alone.gain.levels == ()
    assert "the control arm was not measured" in alone.gain.unknown[1]


def test_what_differs_in_prompts_is_another_series() -> None:
    rig = make_rig(
        prompt_sets={
            n: {"kind": "token-ids", "length": 8, "first_id": 3, "last_id": 99} for n in ("ids", "b")
        },
        workloads=[workload("c1", 1), workload("c4", 4, prompts="b"), workload("c8", 8)],
    )
    assert [[w.name for w in s] for s in series_of(rig.workloads)] == [["c1", "c8"], ["c4"]]


def test_lengths_stand_apart_where_each_has_its_levels_and_together_with_a_word_where_not() -> None:
    loose = make_rig(workloads=[workload("c4", 4, output_tokens=48), workload("c1", 1)])
    assert [[w.name for w in s] for s in series_of(loose.workloads)] == [["c1", "c4"]]
    strict = make_rig(
        workloads=[
            workload("a1", 1),
            workload("b4", 4, output_tokens=48),
            workload("a4", 4),
            workload("a4b", 4),
        ]
    )
    assert [[w.name for w in s] for s in series_of(strict.workloads)] == [["a1", "a4"], ["a4b"], ["b4"]]
    first, arm, again = session(c1=1.4, c4=0.8)
    gain = found(loose, first, arm, again)
    assert "256 tokens at 1, 48 tokens at 4" in gain.warnings[0]


def test_every_surface_says_where_it_stops_winning() -> None:
    rig, run = levels(1, 8), make_run(*session(c1=1.4, c8=0.8))
    file = build(run, (), rig)
    words = "wins up to 1, loses 20% at 8 (1, 8 measured)"
    assert words in page(file, run, Path("/nowhere"))
    assert words in render(file, "reports/x")
    assert any(words in line for line in lines(file, 80))


def test_one_level_is_no_sentence_in_the_terminal() -> None:
    file = build(make_run(*session(c1=1.4)), (), levels(1))
    assert not any("by concurrency" in line for line in lines(file, 80))
    assert gains(levels(1), make_run(*controls())) == ()
