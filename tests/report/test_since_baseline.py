from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from tests.verdicts.baselines.drafting import RIG, drawn
from tests.verdicts.evidence import controls, eagle3, make_run
from tests.verdicts.test_split import ARM, run
from tokgate.records import Outcome, RunEvidence, Verdict
from tokgate.report.closing import lines
from tokgate.report.html_section import page
from tokgate.report.since_baseline import SinceBaseline, since_baseline
from tokgate.report.split_cells import COLUMNS, PAIRED, cells, noted, notes, part, sentence
from tokgate.report.summary_md import render
from tokgate.report.verdict_file import VerdictFile
from tokgate.report.verdict_json import build
from tokgate.verdicts.baselines.save import save
from tokgate.verdicts.split import Split

MOVED = Verdict(
    check="stored_baseline", outcome=Outcome.REGRESSED, headline="less", arm=ARM, workload="single"
)


def stored(folder: Path, evidence: RunEvidence) -> Path:
    """A run folder with copies of the baselines of `evidence`."""
    return [save(folder, draft.new) for draft in drawn(evidence)][-1]


def only(evidence: RunEvidence, folder: Path) -> SinceBaseline:
    (found,) = since_baseline(RIG, evidence, folder)
    return found


def changed(folder: Path, slower: float = 1.08, *, phases: bool = True) -> Split:
    stored(folder, run(phases=phases))
    found = only(run(slower, run_id="now"), folder).change
    assert found is not None
    return found


def test_the_copies_in_the_run_folder_are_what_is_compared_with(tmp_path: Path) -> None:
    found = changed(tmp_path)
    assert found.before.startswith("baselines/small/")
    assert found.after == "now"
    assert found.change == pytest.approx(1 / 1.08 - 1)
    assert found.source == "probe"


def test_without_a_copy_nothing_is_said(tmp_path: Path) -> None:
    assert since_baseline(RIG, run(), tmp_path) == ()
    assert since_baseline(RIG, make_run(*controls()), tmp_path) == ()


def test_a_corrupt_copy_and_a_run_that_may_not_be_judged_are_told(tmp_path: Path) -> None:
    path = stored(tmp_path, run())
    broken = run().model_copy(
        update={"launches": tuple(e.model_copy(update={"liveness": None}) for e in run().launches)}
    )
    told = only(broken, tmp_path)
    assert told.change is None
    assert "never finished" in (told.why or "")
    path.write_text("{")
    assert "no JSON" in (only(run(), tmp_path).why or "")
    for text in surfaces(built(run(), tmp_path), run()):
        assert "no JSON" in text


def built(evidence: RunEvidence, folder: Path, *verdicts: Verdict) -> VerdictFile:
    return build(evidence, verdicts, RIG, folder=folder)


def surfaces(file: VerdictFile, evidence: RunEvidence) -> tuple[str, str]:
    return render(file, "reports/x"), page(file, evidence, Path("/nowhere"))


def test_every_surface_shows_each_share(tmp_path: Path) -> None:
    stored(tmp_path, run())
    now = run(1.08)
    file = built(now, tmp_path)
    for text in surfaces(file, now):
        assert "Since the stored baseline" in text
        for column in ("acceptance", "draft", "verify", "extend", "rest"):
            assert column in text
        assert "-6.1" in text
        assert "59.8 → 55.4" in text


def test_the_cells_and_the_line(tmp_path: Path) -> None:
    found = changed(tmp_path)
    row = dict(zip(COLUMNS, cells(found), strict=True))
    assert re.match(r"-7\.4 % \(-\d+\.\d … -\d\.\d\)", row["change %"])
    assert row["acceptance"] == "0.0 (0.0 … 0.0)"
    assert row["cycle"] == "-7.4"
    assert row["together"].startswith("-7.4 (")
    assert row["phases by"] == "probe (gpu)"
    assert sentence(found).endswith(
        "acceptance 0.0, draft -0.1, verify -6.1, extend -0.2, rest -1.1 (% each alone)"
    )


def test_a_baseline_without_phases_is_split_in_two_and_says_so(tmp_path: Path) -> None:
    found = changed(tmp_path, phases=False)
    row = dict(zip(COLUMNS, cells(found), strict=True))
    assert (row["verify"], row["phases by"]) == ("–", "none")  # noqa: RUF001 - what stands for nothing
    assert row["cycle"].startswith("-7.4 (")
    assert any("split into acceptance and cycle alone" in note for note in notes(found))
    assert "cycle -7.4" in sentence(found)


def test_a_note_of_two_workloads_is_told_once(tmp_path: Path) -> None:
    found = changed(tmp_path)
    twice = noted((found, found.model_copy(update={"workload": "pair"})))
    assert twice
    assert all(where == f"{ARM} single, pair" for where, _ in twice)


def test_the_terminal_explains_what_has_moved_and_nothing_else(tmp_path: Path) -> None:
    stored(tmp_path, run())
    now = run(1.08)
    quiet = " ".join(lines(built(now, tmp_path), 80))
    assert "since the baseline" not in quiet
    told = " ".join(line.strip() for line in lines(built(now, tmp_path, MOVED), 80))
    assert "eagle3-2step single since the baseline: tok/s -7.4 %" in told
    assert "verify -6.1" in told
    assert all(len(line) <= 80 for line in lines(built(now, tmp_path, MOVED), 80))


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0.0"), (-0.0001, "0.0"), (-0.0724, "-7.0"), (0.01, "+1.0")]
)
def test_nothing_has_no_sign(value: float, text: str) -> None:
    assert part(value) == text


def test_a_launch_that_was_never_started_has_no_baseline_to_be_compared_with(tmp_path: Path) -> None:
    stored(tmp_path, run())
    lost = eagle3().model_copy(update={"server": None})
    assert since_baseline(RIG, make_run(*controls(), lost), tmp_path) == ()


def test_an_arrow_says_that_something_has_moved(tmp_path: Path) -> None:
    found = changed(tmp_path)
    still = found.model_copy(update={"tok_s": (93.3, 93.4), "change": -0.001, "interval": (-0.015, 0.013)})
    assert cells(found)[COLUMNS.index("median tok/s")] == "59.8 → 55.4"
    assert cells(still)[COLUMNS.index("median tok/s")] == "93.3, 93.4"


def test_two_intervals_of_one_quantity_are_explained(tmp_path: Path) -> None:
    found = changed(tmp_path)
    assert PAIRED in notes(found.model_copy(update={"interval": (-0.2, 0.1)}))
    assert found.split is not None
    assert found.split.whole is not None
    assert found.split.whole.interval is not None
    same = tuple(math.expm1(end) for end in found.split.whole.interval)
    assert PAIRED not in notes(found.model_copy(update={"interval": same}))


@pytest.mark.parametrize(
    ("value", "text"), [(-0.216, "-19.4"), (0.0, "0.0"), (-0.0004, "0.0"), (0.1, "+10.5")]
)
def test_a_share_is_told_as_the_change_that_it_alone_makes(value: float, text: str) -> None:
    assert part(value) == text


def test_a_baseline_without_phases_says_what_to_do(tmp_path: Path) -> None:
    stored(tmp_path, run(phases=False))
    found = only(run(1.08, run_id="now"), tmp_path).change
    assert found is not None
    why = found.why_no_phases or ""
    assert why.startswith("no phases of baselines/small/")
    assert why.endswith(
        "none were stored with it: measure with -m eagle3, then store that run with `tokgate baseline update`"
    )


def test_a_workload_that_the_instruments_leave_out_is_told_as_such(tmp_path: Path) -> None:
    """The launch with instruments was there, on both days: it did not take this workload."""
    stored(tmp_path, run(phases=False))
    other = RIG.model_copy(
        update={"instruments": RIG.instruments.model_copy(update={"workloads": ("pair",)})}
    )
    (found,) = since_baseline(other, run(1.08, run_id="now"), tmp_path)
    assert found.change is not None
    assert (found.change.why_no_phases or "").startswith(
        "[instruments] of the rig leave single out: name it in instruments.workloads, measure with -m eagle3"
    )
