from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.report import example_verdicts, examples
from tokgate.fixtures.report_faults import unwritable
from tokgate.records import Verdict
from tokgate.report.write import point_latest, write_all


def text_of(file: Path) -> str:
    return file.read_text("utf-8")


def test_every_file_is_written_and_nothing_else_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "20261129T154000-kimi-8gpu"
    file = write_all(folder, examples.run_evidence(), example_verdicts.verdicts(), examples.rig())
    assert file.exit_code == 13
    assert sorted(p.name for p in folder.iterdir()) == [
        "benchmark.json",
        "report.html",
        "summary.md",
        "verdict.json",
        "verdicts.json",
    ]
    assert {p.stat().st_mode & 0o777 for p in folder.iterdir()} == {0o644}


def test_what_looks_like_a_secret_is_in_no_report_of_a_folder_that_comes_from_elsewhere(
    tmp_path: Path,
) -> None:
    token, password = "hf_" + "aB3" * 12, "hunter2hunter2"
    told = f"download of https://me:{password}@hub.example failed with {token}"
    lost = example_verdicts.six_outcomes()[2].model_copy(
        update={"headline": told, "evidence": (told,), "do": told, "warnings": (told,)}
    )
    write_all(tmp_path, examples.run_evidence(), (lost,), examples.rig())
    for file in tmp_path.iterdir():
        assert token not in text_of(file), file
        assert password not in text_of(file), file
    assert "https://me:[redacted]@hub.example failed with [redacted]" in text_of(tmp_path / "verdict.json")


def test_a_folder_in_place_of_a_report_is_named_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "report.html").mkdir()
    with pytest.raises(IsADirectoryError) as refused:
        write_all(tmp_path, examples.run_evidence(), (), examples.rig())
    assert refused.value.filename == str(tmp_path / "report.html")
    assert not list(tmp_path.glob(".*"))
    fault = unwritable(refused.value, tmp_path, tmp_path)
    assert (fault.do or "").startswith(f"move the folder {tmp_path / 'report.html'} away; then judge")


def test_the_raw_list_reads_back_as_the_same_verdicts(tmp_path: Path) -> None:
    write_all(tmp_path, examples.run_evidence(), example_verdicts.six_outcomes(), examples.rig())
    raw = json.loads((tmp_path / "verdicts.json").read_text("utf-8"))
    assert tuple(Verdict.model_validate(v) for v in raw) == example_verdicts.six_outcomes()


def test_a_page_that_pytest_html_wrote_can_be_left_alone(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("theirs", encoding="utf-8")
    write_all(tmp_path, examples.run_evidence(), (), examples.rig(), page=False)
    assert (tmp_path / "report.html").read_text("utf-8") == "theirs"


def test_writing_twice_replaces(tmp_path: Path) -> None:
    write_all(tmp_path, examples.run_evidence(), example_verdicts.six_outcomes(), examples.rig())
    write_all(tmp_path, examples.run_evidence(), example_verdicts.six_outcomes()[:1], examples.rig())
    assert json.loads((tmp_path / "verdict.json").read_text("utf-8"))["outcome"] == "pass"


def test_latest_points_to_the_newest_run(tmp_path: Path) -> None:
    older, newer = tmp_path / "20261129T154000-a", tmp_path / "20261129T154001-b"
    for folder in (older, newer):
        folder.mkdir()
    for folder in (older, newer, older):
        point_latest(folder)
    assert (tmp_path / "latest").resolve() == newer.resolve()
    assert (tmp_path / "latest").readlink() == Path(newer.name)


def test_latest_leaves_a_run_that_is_gone(tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to("20991231T000000-gone")
    (tmp_path / "20261129T154000-a").mkdir()
    point_latest(tmp_path / "20261129T154000-a")
    assert (tmp_path / "latest").readlink() == Path("20261129T154000-a")


def test_a_folder_of_that_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "latest").mkdir()
    (tmp_path / "20261129T154000-a").mkdir()
    point_latest(tmp_path / "20261129T154000-a")
    assert not (tmp_path / "latest").is_symlink()


def test_a_part_judged_again_lies_beside_and_links_back(tmp_path: Path) -> None:
    (tmp_path / "rig.json").write_text("{}", encoding="utf-8")
    write_all(tmp_path, examples.run_evidence(), example_verdicts.six_outcomes(), examples.rig())
    part = tmp_path / "rejudged-1"
    passed = example_verdicts.six_outcomes()[:1]
    write_all(tmp_path, examples.run_evidence(), passed, examples.rig(), into=part)
    assert json.loads((tmp_path / "verdict.json").read_text("utf-8"))["outcome"] == "regressed"
    assert json.loads((part / "verdict.json").read_text("utf-8"))["outcome"] == "pass"
    assert 'href="../rig.json"' in (part / "report.html").read_text("utf-8")
