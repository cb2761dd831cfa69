"""The search for the part of a change that costs in every report: who it is, what was cleared, and foreign names as text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from tests.report.hostile import HOSTILE
from tests.verdicts.evidence import make_run
from tests.verdicts.search_evidence import Machine, run_search, search_rig, unit
from tokgate.records import RunEvidence
from tokgate.records.side import Unit
from tokgate.report import html_section, summary_md, terminal, verdict_json
from tokgate.report.verdict_file import VerdictFile
from tokgate.verdicts.checks.culprit import culprit


def told(units: tuple[Unit, ...] = ()) -> tuple[VerdictFile, RunEvidence]:
    rig, machine = search_rig(), Machine([0, 0, 0.06, 0], units=units)
    run_search(machine, rig)
    evidence = make_run(*machine.launches, sides=machine.sides_made, search=tuple(machine.kept))
    verdicts = culprit(rig, machine.searched(), made=machine.sides_made)
    return verdict_json.build(evidence, verdicts, rig), evidence


@pytest.fixture(scope="module")
def named() -> tuple[VerdictFile, RunEvidence]:
    return told()


def test_verdict_json_holds_it_as_the_schema_says(named: tuple[VerdictFile, RunEvidence]) -> None:
    content = json.loads(verdict_json.dump(named[0]))
    jsonschema.validate(content, verdict_json.verdict_schema())
    (part,) = [p for p in content["culprit"]["parts"] if p["finding"] == "costs"]
    assert part["units"][0]["files"] == ["python/sglang/srt/part_3.py"]
    assert content["outcome"] == "regressed"


def test_its_launches_are_no_arms_as_written(named: tuple[VerdictFile, RunEvidence]) -> None:
    assert named[0].arms == ()


def test_every_surface_names_the_culprit_first(
    named: tuple[VerdictFile, RunEvidence], tmp_path: Path
) -> None:
    file, evidence = named
    page = html_section.page(file, evidence, tmp_path)
    lines = terminal.render(file, "reports/x", colour=False, width=80)
    for text in (page, summary_md.render(file, "reports/x"), lines):
        plain = " ".join(re.sub(r"<[^>]*>|\\", " ", text).split())
        assert "change 3" in plain
        assert re.search(r"cleared \W*-?\+?0\.\d %", plain), plain[:2000]
    assert file.headline.startswith("0303030303 change 3")


def test_no_surface_says_that_no_cause_is_named_beside_the_named_commit(
    named: tuple[VerdictFile, RunEvidence], tmp_path: Path
) -> None:
    file, evidence = named
    assert file.diagnosis.note is None
    first = file.diagnosis.causes[0]
    assert (first.name, first.strength) == ("a part of the change", "isolated")
    assert "0303030303 change 3 (python/sglang/srt/part_3.py) costs 6." in first.words
    assert first.explains[0].against == "its base, in this session"
    for text in (
        html_section.page(file, evidence, tmp_path),
        summary_md.render(file, "reports/x"),
        terminal.render(file, "reports/x", colour=False, brief=True),
        verdict_json.dump(file),
    ):
        assert "no cause" not in text.casefold()


def test_findings_stand_below_each_other_in_a_terminal(named: tuple[VerdictFile, RunEvidence]) -> None:
    lines = terminal.render(named[0], "reports/x", colour=False, width=80).splitlines()
    assert any(line.startswith("costs      6.") for line in lines)
    assert any(line.startswith("cleared    ") for line in lines)


def test_lines_of_a_terminal_fit(named: tuple[VerdictFile, RunEvidence]) -> None:
    lines = terminal.render(named[0], "reports/x", colour=False, width=80).splitlines()
    assert [line for line in lines if len(line) > 80] == []


def test_names_of_commits_and_files_are_foreign_text(tmp_path: Path) -> None:
    units = tuple(
        unit(number).model_copy(
            update={
                "name": f"0{number} {HOSTILE[number - 1]}",
                "files": (f"python/sglang/{HOSTILE[number - 1]}.py",),
            }
        )
        for number in range(1, 5)
    )
    file, evidence = told(units)
    page = html_section.page(file, evidence, tmp_path)
    assert "<img" not in page
    assert "<script>document.title" not in page
    summary = summary_md.render(file, "reports/x")
    assert "\x1b" not in page + summary
    assert not re.search(r"(?<!\\)\|\s*<", summary)
