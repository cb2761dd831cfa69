"""Arguments that SGLang may refuse, told from the lists of three versions."""

from __future__ import annotations

import pytest

from tests.rig.conftest import Checkout
from tokgate.records.nccl import NcclLint
from tokgate.rig.arguments.lint import known_arguments, lint_arguments


@pytest.fixture
def checkout(tmp_path: object) -> Checkout:
    return Checkout(tmp_path)  # type: ignore[arg-type]


def found(checkout: Checkout, server: str = "", arm: str = "") -> tuple[NcclLint, ...]:
    checkout.write(
        ("tp_size = 1", f"tp_size = 1\n{server}"), ("num_draft_tokens = 3", f"num_draft_tokens = 3\n{arm}")
    )
    return lint_arguments(checkout.load())


def test_the_lists_are_of_three_versions_oldest_first() -> None:
    known = known_arguments()
    assert list(known) == ["0.5.9", "0.5.16", "0.5.23"]
    assert all(
        {"model_path", "tp_size", "mem_fraction_static", "disable_custom_all_reduce"} <= n
        for n in known.values()
    )


def test_arguments_that_every_version_takes_are_not_spoken_of(checkout: Checkout) -> None:
    assert found(checkout, "mem_fraction_static = 0.8\ntrust_remote_code = true") == ()


def test_a_misspelt_one_is_a_warning_with_what_was_meant(checkout: Checkout) -> None:
    (finding,) = found(checkout, "mem_fraction_staic = 0.8")
    assert (finding.severity, finding.variable, finding.value) == (
        "warning",
        "server.args.mem_fraction_staic",
        "0.8",
    )
    assert "no SGLang known here takes --mem-fraction-staic (0.5.9, 0.5.16, 0.5.23)" in finding.what
    assert finding.do.startswith("write mem_fraction_static, if that was meant")


def test_one_that_nothing_is_like_may_be_of_a_newer_sglang(checkout: Checkout) -> None:
    (finding,) = found(checkout, 'zzqx = "y"')
    assert finding.severity == "warning"
    assert finding.value == "y"
    assert finding.do == "see --help of the server's SGLang; a newer SGLang may have it"


def test_an_arm_has_arguments_too(checkout: Checkout) -> None:
    (finding,) = found(checkout, arm='args = {speculative_atention_mode = "decode"}')
    assert finding.variable == 'arms[1 "eagle3-2step"].args.speculative_atention_mode'
    assert "speculative_attention_mode" in finding.do


def test_one_that_a_version_has_dropped_is_a_note(checkout: Checkout) -> None:
    (finding,) = found(checkout, "cuda_graph_max_bs = 8")
    assert finding.severity == "note"
    assert finding.what == "known to SGLang 0.5.9, 0.5.16, not to 0.5.23"


def test_a_short_form_is_a_note_with_the_whole_name(checkout: Checkout) -> None:
    (finding,) = found(checkout, "mem_frac = 0.8")
    assert (finding.severity, finding.do) == ("note", "write mem_fraction_static")


def test_false_leaves_the_flag_out_whatever_its_name(checkout: Checkout) -> None:
    assert found(checkout, "no_such_flag = false") == ()


def test_the_worst_comes_first(checkout: Checkout) -> None:
    findings = found(checkout, "cuda_graph_max_bs = 8\nmem_fraction_staic = 0.8")
    assert [f.severity for f in findings] == ["warning", "note"]
