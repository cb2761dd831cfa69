"""A run on several hosts, judged from its folder: by the same tests as the session's own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from tests.report.hostile import MARKUP
from tokgate.cli.main import main
from tokgate.errors import UsageError
from tokgate.records.fleet import HostState, ShiftState
from tokgate.report.verdict_json import published_schema
from tokgate.session.fleet_stored import refuse_part

from .stored import ARM, SLOWER, fleet, stored_fleet

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Judged:
    code: int
    said: str
    folder: Path
    verdict: dict[str, Any]

    def hosts(self) -> dict[str, dict[str, Any]]:
        return {row["host"]: row for row in self.verdict["fleet"]["hosts"]}


def judge(folder: Path) -> Judged:
    words = [
        "-m",
        "pytest",
        f"--rejudge={folder}",
        "perf_tests",
        "-m",
        "eagle3",
        "-p",
        "no:cacheprovider",
        "-v",
    ]
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert (folder / "verdict.json").exists(), done.stdout + done.stderr
    return Judged(done.returncode, done.stdout, folder, json.loads((folder / "verdict.json").read_text()))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    return judge(stored_fleet(tmp_path_factory.mktemp("fleet") / "20261130T100000-small"))


def test_each_test_is_judged_once_for_each_host_and_its_id_says_which(judged: Judged) -> None:
    for host in ("a", "b"):
        assert re.search(rf"test_clean_slate_at_the_end@{host} ", judged.said), judged.said
        assert f"[single-02-{ARM}@{host}]" in judged.said
    assert "@c" not in judged.said
    cases = list(ET.parse(judged.folder / "junit.xml").iter("testcase"))
    names = [(case.get("classname"), case.get("name")) for case in cases]
    assert "test_steadiness[single-01-baseline@b]" in [name for _, name in names]
    assert len(names) == len(set(names))


def test_every_launch_and_verdict_names_its_host(judged: Judged) -> None:
    launches = {(row["launch"], row["host"]) for row in judged.verdict["launches"]}
    assert launches == {
        (f"{name}@{h}", h) for h in "ab" for name in ("01-baseline", f"02-{ARM}", "03-baseline-again")
    }
    for verdict in judged.verdict["verdicts"]:
        assert verdict["host"] in ("a", "b")
        assert verdict["headline"].startswith(f"{verdict['host']}: ")
        assert verdict["arm"] is None or verdict["arm"].endswith(f"@{verdict['host']}")


def test_twins_are_judged_within_a_host(judged: Judged) -> None:
    """B is a tenth slower in both arms: pooled over hosts speculation would look worse on b and better on a."""
    twins = [v for v in judged.verdict["verdicts"] if v["check"] == "speculation_beats_its_twin"]
    changes = {v["host"]: v["change"] for v in twins if v["change"] is not None}
    assert changes["a"] == pytest.approx(changes["b"], abs=0.002)


def test_hosts_are_a_level_of_variance_of_their_own(judged: Judged) -> None:
    rows = {(r["arm"], r["metric"]): r["spread"] for r in judged.verdict["fleet"]["spread"]}
    control = rows["baseline", "decode_tok_s"]
    assert control["apart"] == pytest.approx(1 / SLOWER - 1, rel=0.01)
    assert (control["hosts"], control["runs"]) == (2, 4)
    assert control["between_runs"] < 0.001
    assert 0.05 < control["between_hosts"] < 0.1
    assert rows[ARM, "decode_tok_s"]["between_runs"] is None, "one server run a host"


def test_lost_and_left_out_hosts_are_there_by_name(judged: Judged) -> None:
    hosts = judged.hosts()
    assert (hosts["c"]["state"], hosts["c"]["why"], hosts["c"]["lost"]) == (
        "lost",
        "no route to host",
        ["01-baseline"],
    )
    assert hosts["d"]["state"] == "left out"
    assert "c: lost: no route to host" in " ".join(judged.said.split())


def test_what_a_host_says_is_text_everywhere(judged: Judged) -> None:
    for page in (judged.folder / "report.html", judged.folder / "hosts" / "a" / "report.html"):
        assert "<img src=x" not in page.read_text()
        assert "<script>document.title='owned'" not in page.read_text()
    assert MARKUP not in (judged.folder / "summary.md").read_text()
    assert "document.title" in (judged.folder / "summary.md").read_text(), "it is shown, as text"


def test_each_host_has_a_report_of_its_own_that_the_run_leads_to(judged: Judged) -> None:
    page = (judged.folder / "report.html").read_text()
    for host in ("a", "b"):
        assert f'href="hosts/{host}/report.html"' in page
        own = json.loads((judged.folder / "hosts" / host / "verdict.json").read_text())
        assert own["fleet"] is None
        assert {v["arm"] for v in own["verdicts"] if v["arm"]} == {"baseline", ARM}


def test_verdict_json_is_as_published(judged: Judged) -> None:
    import jsonschema

    jsonschema.validate(judged.verdict, published_schema())


def test_a_command_about_one_host_says_that_it_wants_one(judged: Judged) -> None:
    run = str(judged.folder)
    said = CliRunner().invoke(main, ["--root", str(ROOT), "compare", run, run]).output
    assert "name the part of one host" in " ".join(said.split())


def test_the_command_judges_the_folder_as_pytest_does(judged: Judged, tmp_path: Path) -> None:
    """And from wherever it was carried to."""
    folder = tmp_path / judged.folder.name
    shutil.copytree(judged.folder, folder)
    before = json.loads((folder / "verdict.json").read_text())
    for path in (folder / "verdict.json", folder / "hosts" / "a" / "verdict.json"):
        path.unlink()
    done = subprocess.run(
        [sys.executable, "-m", "tokgate", "report", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == judged.code, done.stdout + done.stderr
    after = json.loads((folder / "verdict.json").read_text())
    assert after["verdicts"] == before["verdicts"]
    assert after["fleet"] == before["fleet"]
    assert json.loads((folder / "hosts" / "a" / "verdict.json").read_text())["fleet"] is None


def test_judging_one_host_alone_says_that_the_run_is_judged(judged: Judged) -> None:
    with pytest.raises(UsageError, match="judge the run: tokgate report") as caught:
        refuse_part(judged.folder / "hosts" / "a")
    assert str(judged.folder) in caught.value.do


def test_what_nobody_could_measure_is_invalid_and_says_why_each_host_went(tmp_path: Path) -> None:
    why = "no host is left that could measure it: a lost: its power"
    told = fleet()
    nobody = told.model_copy(
        update={
            "hosts": tuple(
                h.model_copy(update={"state": HostState.LOST, "why": "its power"}) for h in told.hosts
            ),
            "shifts": tuple(s.model_copy(update={"state": ShiftState.LOST}) for s in told.shifts),
            "unmeasured": {ARM: why},
        }
    )
    found = judge(stored_fleet(tmp_path / "20261130T100001-small", nobody))
    assert (found.code, found.verdict["outcome"]) == (11, "invalid")
    assert why in found.verdict["headline"]
