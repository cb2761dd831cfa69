"""What is kept of a host's campaign in the checkout: baselines that overwrite nothing, and the report of a good real run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from keep import keep_baselines, keep_example

CARD = "GPU-1f5e8a3c-7d2b-4c90-a1b2-0123456789ab"


def run_of(folder: Path, *, outcome: str = "pass", simulated: bool = False) -> Path:
    folder.mkdir()
    verdict = {
        "outcome": outcome,
        "simulated": simulated,
        "headline": "all is well",
        "fingerprint": {"gpu.0.uuid": CARD},
    }
    (folder / "verdict.json").write_text(json.dumps(verdict, indent=1))
    (folder / "report.html").write_text(f"<html>{CARD}</html>")
    (folder / "rig.json").write_text('{"name": "h200-quick"}')
    return folder


def test_an_example_is_the_same_verdict_without_the_card(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run")
    verdict, page = keep_example(run, tmp_path, most_mib=1.0)
    assert verdict == tmp_path / "docs" / "examples" / "h200-quick" / "verdict.json"
    kept = json.loads(verdict.read_text())
    assert kept["headline"] == "all is well"
    assert kept["fingerprint"]["gpu.0.uuid"] == "GPU-00000000-0000-0000-0000-000000000000"
    assert CARD not in page.read_text()


@pytest.mark.parametrize(
    ("outcome", "simulated", "most", "told"),
    [
        ("regressed", False, 1.0, "it is regressed"),
        ("pass", True, 1.0, "it is simulated"),
        ("pass", False, 0.00001, "above 1e-05"),
    ],
)
def test_what_is_no_example_is_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    *,
    outcome: str,
    simulated: bool,
    most: float,
    told: str,
) -> None:
    run = run_of(tmp_path / "run", outcome=outcome, simulated=simulated)
    with pytest.raises(SystemExit):
        keep_example(run, tmp_path, most_mib=most)
    assert told in capsys.readouterr().err
    assert not (tmp_path / "docs").exists()


def test_baselines_come_into_the_checkout_and_replace_none_unasked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = tmp_path / "campaign" / "baselines" / "h200-quick"
    made.mkdir(parents=True)
    (made / "0123456789ab.json").write_text("new")
    (kept,) = keep_baselines(tmp_path / "campaign", tmp_path)
    assert kept.read_text() == "new"
    kept.write_text("stored by somebody")
    with pytest.raises(SystemExit):
        keep_baselines(tmp_path / "campaign", tmp_path)
    assert "stands there already" in capsys.readouterr().err
    assert kept.read_text() == "stored by somebody"
    keep_baselines(tmp_path / "campaign", tmp_path, replace=True)
    assert kept.read_text() == "new"


def test_a_campaign_without_baselines_says_how_they_are_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        keep_baselines(tmp_path, tmp_path)
    assert "tokgate baseline update" in capsys.readouterr().err
