"""Pairs under data/meta_info: a body of our own making in the form of one SGLang version, and what it says."""

from __future__ import annotations

import json
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.parsers.mutations import mutated
from tokgate.parsers.foreign_json import load_json
from tokgate.parsers.meta_info import golden_keys, read_meta_info, read_usage
from tokgate.records import ServerCounters

DATA = Path(__file__).parent / "data" / "meta_info"
CASES = sorted(path.name.removesuffix(".body.json") for path in DATA.glob("*.body.json"))


def told(counters: ServerCounters) -> dict[str, Any]:
    said = counters.model_dump(mode="json", exclude_defaults=True)
    return said | {"unread": [[unread.text, unread.why] for unread in counters.unread]}


@pytest.mark.parametrize("case", CASES)
def test_pair(case: str) -> None:
    body = json.loads((DATA / f"{case}.body.json").read_text())
    assert told(read_meta_info(body)) == json.loads((DATA / f"{case}.expected.json").read_text())


@pytest.mark.parametrize("body", [None, "", "{'meta_info': {}}", 7, [], {"meta_info": 3}])
def test_anything_at_all_is_an_answer_without_counts(body: object) -> None:
    counters = read_meta_info(body)
    assert counters.completion_tokens is None
    assert counters.spec is None
    assert counters.unread


@pytest.mark.parametrize("case", CASES)
def test_damaged_bodies_never_raise_and_never_invent_negative_counts(case: str) -> None:
    for text in mutated((DATA / f"{case}.body.json").read_bytes(), seed=5, count=25):
        body, _ = load_json(text)
        for counters in (read_meta_info(body), read_usage(body)):
            assert counters.completion_tokens is None or counters.completion_tokens >= 0
            assert ServerCounters.model_validate_json(counters.model_dump_json()) == counters


def test_a_rate_that_counts_the_first_token_is_brought_to_the_meaning_of_today() -> None:
    """Up to 0.5.11 decode_throughput is n / t, from 0.5.12 (n - 1) / t: 3 % at 32 tokens."""
    same_decode_time = {"completion_tokens": 32, "e2e_latency": 1.0}
    old = read_meta_info(same_decode_time | {"total_retractions": 0, "decode_throughput": 32 / 0.8})
    new = read_meta_info(same_decode_time | {"num_retractions": 0, "decode_throughput": 31 / 0.8})
    assert old.decode_throughput == pytest.approx(new.decode_throughput)


def test_no_verify_calls_is_not_the_same_as_not_told() -> None:
    assert read_meta_info({"num_retractions": 0, "completion_tokens": 3}).spec is None
    zero = read_meta_info({"completion_tokens": 1, "spec_verify_ct": 0}).spec
    assert zero is not None
    assert zero.verify_ct == 0
    assert zero.num_correct_drafts is None


def test_usage_alone() -> None:
    counters = read_usage({"usage": {"prompt_tokens": 3, "completion_tokens": 16, "total_tokens": 19}})
    assert counters.dialect == "openai-usage"
    assert (counters.prompt_tokens, counters.completion_tokens) == (3, 16)
    assert counters.cached_tokens is None
    assert counters.spec is None


def test_usage_with_zeros_for_what_the_server_does_not_know() -> None:
    details = {"spec_verify_ct": 4, "spec_num_correct_drafts": 0, "spec_correct_drafts_histogram": []}
    counters = read_usage({"usage": {"completion_tokens": 5}, "sglext": {"spec_tokens_details": [details]}})
    assert counters.spec is not None
    assert counters.spec.verify_ct == 4
    assert counters.spec.num_correct_drafts == 0
    assert counters.spec.correct_drafts_histogram is None


def test_meta_info_inside_a_choice_says_more_than_usage() -> None:
    meta_info = {"completion_tokens": 9, "e2e_latency": 2.0}
    counters = read_usage({"usage": {"completion_tokens": 9}, "choices": [{"meta_info": meta_info}]})
    assert counters.e2e_latency_s == 2.0


def test_the_golden_names_are_whole() -> None:
    golden = golden_keys()
    assert [dialect.name for dialect in golden.dialects] == ["0.5.13", "0.5.11", "0.5.9"]
    raw = tomllib.loads((files("tokgate.parsers") / "names" / "meta_info.toml").read_text("utf-8"))
    assert sorted(raw["other"]["keys"]) == raw["other"]["keys"]
    assert not set(raw["other"]["keys"]) & {k for keys in golden.fields.values() for k in keys}


def test_the_histogram_that_two_dialects_share_does_not_hide_the_older_counts() -> None:
    counters = read_meta_info(
        {
            "completion_tokens": 12,
            "spec_verify_ct": 5,
            "spec_accept_token_num": 6,
            "spec_draft_token_num": 10,
            "spec_accept_histogram": [1, 2, 2],
        }
    )
    assert counters.dialect == "0.5.9"
    assert counters.spec is not None
    assert counters.spec.num_correct_drafts == 6
    assert counters.spec.num_proposed_drafts == 10
    assert counters.spec.correct_drafts_histogram == (1, 2, 2)
