from __future__ import annotations

from pathlib import Path

import pytest

from tests.verdicts.baselines.test_history import RIG
from tests.verdicts.evidence import controls, eagle3, make_run
from tokgate.records import Outcome, Reference, RunEvidence, Verdict
from tokgate.report.charts.drawing import Figure, Panel
from tokgate.report.charts.history import history
from tokgate.report.charts.history_series import SHOWN
from tokgate.report.verdict_json import build
from tokgate.verdicts.baselines.history import Entry, entry_of

RUN: RunEvidence = make_run(*controls(), eagle3())
LEVELS = (*(1.0, 1.001, 0.999) * 4, *(0.94, 0.941, 0.939) * 3)


def earlier(number: int, factor: float, outcome: Outcome = Outcome.PASS) -> Entry:
    own = entry_of(RIG, RUN, ())
    assert own is not None
    series = tuple(
        one.model_copy(
            update={
                "outcome": outcome,
                "launches": {
                    launch: {name: v * factor for name, v in medians.items()}
                    for launch, medians in one.launches.items()
                },
            }
        )
        for one in own.series
    )
    day = f"2026-{9 + number // 28:02}-{1 + number % 28:02}"
    return own.model_copy(
        update={"run_id": f"r{number:03}", "started_at": f"{day}T02:00:00+00:00", "series": series}
    )


def drawn(folder: Path, entries: list[Entry], *verdicts: Verdict, damaged: str = "") -> Figure:
    (folder / "rig.json").write_text(RIG.model_dump_json(), encoding="utf-8")
    lines = "".join(e.model_dump_json() + "\n" for e in entries)
    (folder / "history.jsonl").write_text(damaged + lines, encoding="utf-8")
    return history(build(RUN, verdicts, RIG), RUN, folder)


def panel(figure: Figure, place: str = "baseline, single", metric: str = "decode (") -> Panel:
    return next(v for v in figure.views if v.chosen[0] == place and v.chosen[1].startswith(metric)).panels[0]


@pytest.fixture(scope="module")
def moved(tmp_path_factory: pytest.TempPathFactory) -> Figure:
    entries = [earlier(i, f, Outcome.INVALID if i == 2 else Outcome.PASS) for i, f in enumerate(LEVELS)]
    stored = Verdict(
        check="stored_baseline", outcome=Outcome.PASS, headline="x", arm="baseline", workload="single",
        launch="01-baseline", metric="decode_tok_s", value=44.6,
        reference=Reference(kind="baseline", label="baselines/small/1f.json", value=44.5),
    )  # fmt: skip
    return drawn(tmp_path_factory.mktemp("moved"), entries, stored, damaged="no json\n")


def test_every_session_is_a_mark_and_this_one_is_told_apart(moved: Figure) -> None:
    told = {t.label: t for t in panel(moved).traces}
    assert len(told["session"].y) == len(LEVELS) - 1
    assert list(told["session, invalid: counts for no level"].x) == [2.0]
    now = told["this session"]
    assert list(now.x) == [float(len(LEVELS))]
    assert now.y[0] == pytest.approx(44.6, rel=0.01)
    assert len({t.mark for t in told.values()}) == 3
    assert moved.facts["run"][now.places[0]] == RUN.info.run_id
    assert [moved.facts["run"][i] for i in told["session"].places][:2] == ["r000", "r001"]


def test_a_change_point_is_an_upright_line_between_two_levels(moved: Figure) -> None:
    lines = panel(moved).lines
    (change,) = [line for line in lines if line.label.startswith("change point")]
    assert (change.way, change.at) == ("x", 11.5)
    assert "-6.0% since run r012 of 2026-09-13" in change.label
    before, after = [line for line in lines if line.way == "y" and line.quiet]
    assert (before.first, before.last) == (-0.5, 11.5)
    assert after.first == 11.5
    assert after.at / before.at == pytest.approx(0.94, abs=0.002)


def test_what_is_stored_is_a_line_and_stands_in_the_table(moved: Figure) -> None:
    (line,) = [line for line in panel(moved).lines if "stored" in line.label]
    assert line.at == 44.5
    row = next(r for r in moved.rows if r[:3] == ("baseline", "single", "decode"))
    assert row[3:6] == (str(len(LEVELS) + 1), "44.6 tok/s", "44.5 tok/s")
    assert "has stood 6.0 % lower since run r012" in row[6]


def test_what_moved_is_said(moved: Figure) -> None:
    assert moved.says[0].startswith("baseline, single: decode has stood 6.0 % lower since run r012")


def test_a_steady_history_says_so(tmp_path: Path) -> None:
    steady = drawn(tmp_path, [earlier(i, 1 + (i % 3) / 1000) for i in range(8)])
    assert steady.says == (
        "No number has changed its level in the 9 sessions of this rig with these settings.",
    )


def test_a_long_history_shows_the_latest_and_says_so(tmp_path: Path) -> None:
    long = drawn(tmp_path, [earlier(i, 1 + (i % 7) / 1000) for i in range(SHOWN + 20)])
    assert sum(len(t.y) for t in panel(long).traces) == SHOWN
    assert f"The latest {SHOWN} of {SHOWN + 21} sessions are drawn" in long.notes[1]


def test_the_first_session_begins_its_history(tmp_path: Path) -> None:
    first = drawn(tmp_path, [])
    assert first.views == ()
    assert "first session of this rig" in first.says[0]


def test_a_folder_without_a_rig_or_a_measured_arm_says_why(tmp_path: Path) -> None:
    assert "no rig.json" in history(build(RUN, (), RIG), RUN, tmp_path).says[0]
    empty = make_run()
    (tmp_path / "rig.json").write_text(RIG.model_dump_json(), encoding="utf-8")
    assert "measured no arm" in history(build(empty, (), RIG), empty, tmp_path).says[0]


def test_a_simulated_or_another_rigs_session_is_never_beside_a_real_one(tmp_path: Path) -> None:
    other = [
        earlier(1, 2.0).model_copy(update={"simulated": True}),
        earlier(2, 2.0).model_copy(update={"rig": "other"}),
    ]
    assert drawn(tmp_path, other).views == ()
