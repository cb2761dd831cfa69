"""The sweep in every report: its table, the best setting, what was left out, what has no numbers."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from tests.verdicts.evidence import make_run
from tests.verdicts.sweep_evidence import chains, run, sweep_rig
from tokgate.records import StartCause
from tokgate.report import html_section, summary_md, terminal, verdict_json
from tokgate.report.sweep import rows_of
from tokgate.report.verdict_file import VerdictFile
from tokgate.verdicts.checks.sweep import sweep, sweep_setting
from tokgate.verdicts.sweep_best import sweep_table


def told(*, failed: bool = False) -> VerdictFile:
    rig = sweep_rig(topk=(1, 4), num_draft_tokens=(6,), num_steps=(1, 3))
    rates = chains(54.0, 60.0, 57.0)
    rates["s3-k4-t6"] = rates["s1-k1-t2"]
    causes = {"s3-k4-t6": StartCause.DOES_NOT_FIT} if failed else {}
    launches = run(rig, {n: r for n, r in rates.items() if n not in causes}, failed=causes)
    verdicts = [v for e in launches for v in sweep_setting(rig, e, "single")]
    verdicts += sweep(rig, launches, "single")
    return verdict_json.build(make_run(*launches), verdicts, rig)


def test_verdict_json_holds_it_as_the_schema_says() -> None:
    file = told()
    content = json.loads(verdict_json.dump(file))
    jsonschema.validate(content, verdict_json.verdict_schema())
    assert [row["words"] for row in content["sweep"]["rows"]] == [
        "1 step", "2 steps", "3 steps", "3 steps, topk 4, 6 tokens"
    ]  # fmt: skip
    (best,) = content["sweep"]["best"]
    assert (best["best"], best["runner_up"], best["told_apart"]) == ("2 steps", "3 steps", True)
    assert best["comparisons"] == 3
    (out,) = content["sweep"]["left_out"]
    assert out["why"] == "so small a tree has at most 5 tokens to verify"


def test_its_launches_are_no_arms_as_written() -> None:
    assert told().arms == ()


@pytest.mark.parametrize("failed", [False, True])
def test_html_and_markdown_show_table_and_best(failed: bool, tmp_path: Path) -> None:
    file = told(failed=failed)
    rig = sweep_rig()
    page = html_section.page(file, make_run(*run(rig, {})), tmp_path)
    summary = summary_md.render(file, "reports/x")
    for text in (page, summary):
        assert "Sweep of eagle3-2step" in text
        assert "2 steps (best, as written)" in text
        assert "single: 2 steps best, by 5.3 % " in text.replace("\\", "")
        assert "left out 1 step, topk 4, 6 tokens" in text
        assert ("no numbers for 3 steps, topk 4, 6 tokens under single: out of GPU memory" in text) is failed


def test_the_terminal_names_the_best_even_where_another_verdict_leads() -> None:
    passed = terminal.render(told(), "reports/x", colour=False)
    assert "sweep of eagle3-2step, single: 2 steps best, by 5.3 %" in " ".join(passed.split())
    assert "single: 2 steps best, by 5.3 %" in passed.splitlines()[1]  # the answer of the session
    other = terminal.render(told(failed=True), "reports/x", colour=False)
    assert "cannot be had here" in " ".join(other.split())
    assert "sweep of eagle3-2step, single: 2 steps best, by 5.3 %" in " ".join(other.split())


def test_of_settings_not_told_apart_none_is_called_the_best() -> None:
    rig = sweep_rig()
    table = sweep_table(rig, run(rig, chains(54.0, 60.02, 60.0)))
    assert table is not None
    assert [cells[1] for cells, _ in rows_of(table)] == [
        "1 step", "2 steps (among the best, as written)", "3 steps (among the best)"
    ]  # fmt: skip


def test_a_run_without_a_sweep_has_none() -> None:
    rig = sweep_rig()
    file = verdict_json.build(make_run(), [], rig)
    assert file.sweep is None
    assert "Sweep" not in summary_md.render(file, "reports/x")
