"""What the pages show in Python, TOML and shell scripts is right."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from tests.verdicts.evidence import make_generation, make_launch, make_rig
from tokgate.records import LaunchEvidence, Outcome, Verdict
from tokgate.stats.bounds import DETECT
from tokgate.stats.samples import UNITS
from tokgate.verdicts.metrics import METRICS
from tokgate.verdicts.series import series_of

from . import fixtures_table
from .pages import PAGES, ROOT, fenced

DOCS = ROOT / "docs"


def test_the_table_of_fixtures_is_current() -> None:
    assert fixtures_table.current() == fixtures_table.table(), "run: python -m tests.docs.fixtures_table"


def test_the_worked_example_of_statistics_gives_what_stands_below_it() -> None:
    page = (DOCS / "statistics.md").read_text(encoding="utf-8")
    (code,), (output,) = fenced(page, "python"), fenced(page, "output")
    done = subprocess.run((sys.executable, "-c", code), cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == output


@pytest.fixture
def promise() -> ModuleType:
    page = (DOCS / "writing-perf-tests.md").read_text(encoding="utf-8")
    module = ModuleType("test_fair_share")
    exec(fenced(page, "python")[0], module.__dict__)
    return module


@pytest.mark.parametrize(("slowest", "outcome"), [(44.0, Outcome.PASS), (20.0, Outcome.REGRESSED)])
def test_the_tutorials_promise_concludes(promise: ModuleType, slowest: float, outcome: Outcome) -> None:
    starts = tuple(
        make_generation(index=2 * start + slot, batch=start, slot=slot, workload="pair", tok_s=rate)
        for start in range(5)
        for slot, rate in enumerate((44.6, slowest))
    )
    launch = make_launch(tuple(g.model_copy(update={"warmup": g.batch == 0}) for g in starts))
    (verdict,) = _concluded(promise, launch)
    assert (verdict.outcome, verdict.n) == (outcome, 4), verdict
    assert verdict.value == pytest.approx(slowest / ((44.6 + slowest) / 2), abs=1e-3)
    assert (verdict.do is None) is (outcome is Outcome.PASS)


def test_the_tutorials_promise_passes_nothing_that_may_not_be_judged(promise: ModuleType) -> None:
    (verdict,) = _concluded(promise, make_launch(()))
    assert (verdict.check, verdict.outcome) == ("fair_share", Outcome.INVALID)


def test_the_tutorial_names_every_series_there_is() -> None:
    page = (DOCS / "writing-perf-tests.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"<!-- series -->\n(.*?)<!-- end of series -->", page, re.DOTALL)
    named = dict(re.findall(r"^\| `(\w+)` \| ([\w/]+) \|", block, re.MULTILINE))
    good = tuple(make_generation(index=n, batch=n // 2, slot=n % 2, verify_ct=130) for n in range(8))
    assert named == {name: UNITS[name] for name in series_of(good)[0]}


def _concluded(promise: ModuleType, launch: LaunchEvidence) -> list[Verdict]:
    told: list[Verdict] = []
    promise.test_fair_share(launch, "pair", make_rig(), told.extend)
    return told


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_toml_on_a_page_is_toml(path: Path) -> None:
    for block in fenced(path.read_text(encoding="utf-8"), "toml"):
        tomllib.loads(block)


def test_the_scripts_of_ci_are_bash() -> None:
    page = (DOCS / "ci.md").read_text(encoding="utf-8")
    (script,) = re.findall(r"^    (#!/bin/bash\n(?:    .*\n|\n)+)", page, re.MULTILINE)
    script = re.sub(r"^    ", "", script, flags=re.MULTILINE)
    for code in (0, 13):
        stand_in = script.replace(".venv/bin/pytest", f"bash -c 'exit {code}' --")
        assert subprocess.run(("bash", "-c", stand_in), check=False).returncode == code


def test_floors_on_the_page_of_verdicts_are_the_codes() -> None:
    page = (DOCS / "verdicts.md").read_text(encoding="utf-8")
    for name, metric in METRICS.items():
        assert f"| `{name}` | {metric.unit} |" in page, name


def test_the_page_of_verdicts_begins_with_what_may_merge() -> None:
    page = (DOCS / "verdicts.md").read_text(encoding="utf-8")
    start, _, rest = page.partition("\n## Outcomes\n")
    assert rest
    assert len(start.split()) < 600  # one page
    speed, first = METRICS["decode_tok_s"], METRICS["ttft_ms"]
    floor, excluded = f"{speed.relative_floor:.0%}", f"{DETECT * speed.relative_floor:.0%}"
    assert f"({floor.replace('%', ' %')}, and {speed.absolute_floor:g} tok/s" in start
    assert f"| {excluded.replace('%', ' %')} and more |" in start
    assert f"So up to {DETECT * first.relative_floor:.0%}".replace("%", " %") in start
    by_budget = {f"`{metric.name}`" for metric in METRICS.values() if not metric.stored}
    (listed,) = re.findall(r"Held by a .*?: without", start, re.DOTALL)
    assert set(re.findall(r"`\w+`", listed)) == by_budget


def test_the_glossary_is_linked_and_has_the_words_of_the_pages() -> None:
    words = (DOCS / "index.md").read_text(encoding="utf-8").partition("## Words")[2]
    for word in (
        "barrier start",
        "server start",
        "floor",
        "anchor",
        "creep",
        "prior",
        "probe",
        "drift",
        "lease",
    ):
        assert f"| {word} |" in words, word
    assert "docs/index.md#words" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_nobody_is_told_to_install_a_name_that_anybody_could_take() -> None:
    for path in PAGES:
        for line in path.read_text(encoding="utf-8").splitlines():
            for bare in re.findall(r"pip install ['\"]?(tokgate\S*(?: @ git)?)", line):
                assert bare.endswith("@ git"), f"{path.name}: {line}"


def test_the_readme_activates_what_its_commands_need() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    before, active, after = page.partition("    . .venv/bin/activate\n")
    assert active
    assert not re.search(r"^    (tokgate|pytest) ", before, re.MULTILINE)
    assert ".venv/bin/" not in after


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_files_that_a_page_names_are_there(path: Path) -> None:
    prose = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    named = re.findall(r"`((?:tests|tokgate|fixtures|perf_tests|simbox|\.github|\.ci)/[\w./-]+)`", prose)
    # What a table calls NAME, or a reader writes, is nowhere yet.
    missing = [name for name in named if "NAME" not in name and not (ROOT / name).exists()]
    assert missing in ([], ["perf_tests/test_fair_share.py"])
