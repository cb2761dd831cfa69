from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.report.hostile import MARKUP
from tests.verdicts.evidence import make_launch, make_run
from tests.verdicts.nccl.evidence import BLOCK, nccl_rig, proof, proof_start, rank, started
from tokgate.records.nccl import NcclTruth
from tokgate.report.figures import NONE
from tokgate.report.html_section import page
from tokgate.report.nccl_matrix import FiveStates, five_states, truth_of_run
from tokgate.report.summary_md import render
from tokgate.report.verdict_json import build


def truth(**changes: Any) -> NcclTruth:
    found = truth_of_run(nccl_rig(), make_run(proof_start(**changes)))
    assert found is not None
    return found


def missing_in_rank_1() -> dict[str, Any]:
    rest = {name: value for name, value in BLOCK.items() if name != "NCCL_PROTO"}
    return {
        "environment": started({1: {"NCCL_PROTO": None}}),
        "nccl": proof([rank(0), rank(1, rest)]),
    }


def signs(states: FiveStates, variable: str) -> list[str]:
    row = next(r for r in states.rows if r.variable == variable)
    return ["".join(sign.sign for sign in cell.signs) for cell in row.cells]


def test_a_sign_per_rank_in_every_state() -> None:
    states = five_states(truth())
    assert signs(states, "NCCL_PROTO") == ["✓✓", "✓✓", f"✓{NONE}", "✓✓"]
    assert signs(states, "NCCL_BUFFSIZE") == ["✓✓", "✓✓", NONE * 2, "✓✓"]
    assert states.fine


def test_what_is_not_as_wanted_is_told_in_words_too() -> None:
    states = five_states(truth(**missing_in_rank_1()))
    assert signs(states, "NCCL_PROTO")[:2] == ["✓✗", "✓✗"]
    row = next(r for r in states.rows if r.variable == "NCCL_PROTO")
    assert row.cells[0].words == ("absent from the exec environment of rank 1 only",)
    assert not states.fine


def test_a_value_is_shown_where_it_is_not_the_wanted_one() -> None:
    row = next(r for r in five_states(truth()).rows if r.variable == "NCCL_P2P_LEVEL")
    assert [cell.value for cell in row.cells] == [None, None, "P2P/IPC", "122 a step"]


def test_the_proof_start_is_what_counts_wherever_it_stands() -> None:
    found = truth_of_run(nccl_rig(), make_run(make_launch(), proof_start()))
    assert found is not None
    assert found.launch == "00-nccl-proof"


def test_a_rig_without_a_block_or_with_one_gpu_has_no_matrix() -> None:
    assert truth_of_run(nccl_rig({}), make_run(proof_start())) is None
    assert truth_of_run(nccl_rig(ranks=1), make_run(proof_start())) is None
    assert truth_of_run(nccl_rig(), make_run()) is None


def test_html_and_summary_show_the_same_and_escape_it(tmp_path: Path) -> None:
    evidence = make_run(proof_start(environment=started({0: {"NCCL_ALGO": MARKUP}})))
    file = build(evidence, (), nccl_rig())
    html, summary = page(file, evidence, tmp_path), render(file, "reports/x")
    assert "NCCL truth" in html
    assert "NCCL truth" in summary
    assert "another value in the exec environment of rank 0 only" in html
    assert "another value in the exec environment of rank 0 only" in summary
    assert MARKUP not in html
    assert MARKUP not in summary


def test_a_proof_that_nobody_selected_is_no_table_in_the_summary() -> None:
    evidence = make_run(make_launch(environment=started()))
    file = build(evidence, (), nccl_rig())
    assert file.nccl is not None
    assert "NCCL truth" not in render(file, "x")
    lost = make_run(make_launch(environment=started({1: {"NCCL_PROTO": None}})))
    assert "NCCL truth" in render(build(lost, (), nccl_rig()), "x")


def test_a_skipped_proof_shows_its_reason() -> None:
    rig = nccl_rig(nccl_proof={"skip": "500 GB of weights"})
    evidence = make_run(make_launch(environment=started()))
    assert "no proof start: 500 GB of weights" in render(build(evidence, (), rig), "x")
