"""Reports say what this host's gate is known to see, or that nobody knows."""

from __future__ import annotations

from pathlib import Path

from tests.report import example_verdicts, examples
from tests.verdicts.selftest_examples import eight, selftest
from tokgate.records import Fingerprint
from tokgate.records.selftest import SelfTest
from tokgate.report import terminal
from tokgate.report.html_section import page
from tokgate.report.summary_md import render
from tokgate.report.verdict_file import VerdictFile
from tokgate.report.verdict_json import build
from tokgate.verdicts.selftest_file import COPY

SEEN = "a planted loss of 5 % was called in 1 of 1"


def built(folder: Path, text: str | None = None) -> VerdictFile:
    if text is not None:
        (folder / COPY).write_text(text, encoding="utf-8")
    return build(examples.run_evidence(), example_verdicts.verdicts(), examples.rig(), folder=folder)


def of_this_host(**other: object) -> SelfTest:
    now = examples.run_evidence().fingerprint
    assert now is not None
    return selftest(examples.rig(), eight(), **{"fingerprint": now} | other)


def everywhere(file: VerdictFile, folder: Path) -> list[str]:
    texts = (
        terminal.render(file, "reports/x", colour=False),
        render(file, "reports/x"),
        page(file, examples.run_evidence(), folder),
    )
    return [" ".join(text.replace("\\", "").split()) for text in texts]


def test_all_reports_say_it(tmp_path: Path) -> None:
    file = built(tmp_path, of_this_host().model_dump_json())
    assert file.qualification is not None
    assert file.qualification.qualified
    for text in everywhere(file, tmp_path):
        assert "0 of 1 sessions of an unchanged server alarmed" in text
    assert SEEN in everywhere(file, tmp_path)[1]
    assert "What this gate is known to see" in everywhere(file, tmp_path)[2]


def test_one_of_another_host_claims_nothing(tmp_path: Path) -> None:
    elsewhere = of_this_host(fingerprint=Fingerprint(facts={"host.cpu": "another"}))
    for text in everywhere(built(tmp_path, elsewhere.model_dump_json()), tmp_path):
        assert "not qualified here" in text


def test_where_there_is_none_that_is_said(tmp_path: Path) -> None:
    for text in everywhere(built(tmp_path), tmp_path):
        assert "no self-test on this host" in text


def test_a_damaged_copy_costs_its_line_and_no_report(tmp_path: Path) -> None:
    for text in everywhere(built(tmp_path, "{"), tmp_path):
        assert "the self-test in this run cannot be read" in text
