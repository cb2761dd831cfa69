"""A search for the commit that costs, by the gate as a user runs it, over the simulated box."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("simbox")

from tests.scenarios.gate_run import play, rejudge
from tests.session.sim_series import CULPRIT, QUICK, series


@pytest.mark.slow
@pytest.mark.alone
def test_the_commit_that_makes_verify_wait_is_named_and_the_folder_says_so_again(tmp_path: Path) -> None:
    checkout = series(tmp_path / "sglang")
    found = play(
        tmp_path / "gate",
        (),
        *("--culprit", f"--sglang-repo={checkout}", "--base=good", "--head=series"),
        # Enough for the search, and not for taking the commit out of the head again.
        settings=(*QUICK, "sampling.gpu_time_s=100"),
    )
    assert found.code == 13, found.told()
    (verdict,) = found.verdicts(check="culprit")
    assert CULPRIT in verdict["headline"]
    assert "python/sglang/srt/speculative/eagle_worker_v2.py" in verdict["headline"]
    table = found.verdict["culprit"]
    (part,) = [part for part in table["parts"] if part["finding"] == "costs"]
    assert part["interval"][0] < part["cost"] < part["interval"][1]
    assert part["cost"] == pytest.approx(8 / (19.7 + 8), abs=0.05), "8 ms on a cycle of 19.7 ms"
    assert CULPRIT in (found.folder / "report.html").read_text()
    assert CULPRIT in found.text("summary.md")
    assert not list(tmp_path.joinpath("gate", "work", "sides").glob("*")), "a tree was left on the host"
    again = rejudge(found.folder)
    assert again.verdict["culprit"] == table
