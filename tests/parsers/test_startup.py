"""Pairs under data/startup: the log of a start, of our own making in the forms of real versions, and its reading."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.parsers import mutations
from tokgate.parsers.startup import StartupReading, read_arguments, read_startup

DATA = Path(__file__).parent / "data" / "startup"
CASES = sorted(path.stem for path in DATA.glob("*.log"))


def read(case: str) -> StartupReading:
    return read_startup((DATA / f"{case}.log").read_bytes().decode())


@pytest.mark.parametrize("case", CASES)
def test_pair(case: str) -> None:
    expected = json.loads((DATA / f"{case}.json").read_text())
    assert read(case).model_dump(mode="json", exclude_defaults=True) == expected


def test_a_graph_whose_end_was_not_seen_has_no_duration() -> None:
    (capture,) = read("0.5.7_npu_two_ranks_cut").captures
    assert (capture.platform, capture.done, capture.total, capture.seconds) == ("npu", 1, 3, None)
    assert not read("0.5.7_npu_two_ranks_cut").says_ready


def test_target_and_draft_pools_are_told_apart_by_order_and_ranks_by_name() -> None:
    pools = read("0.5.16_eagle3_two_ranks").pools
    assert [(p.rank, p.tokens, p.k_gb) for p in pools] == [("TP0", 212668, 12.98), ("TP0", 212668, 0.41)]


def test_an_argument_that_was_cut_off_is_unknown_and_not_none() -> None:
    arguments = read("arguments_cut").arguments
    assert arguments is not None
    assert not arguments.complete
    assert "api_key" not in arguments.values
    assert arguments.values["mem_fraction_static"] == 0.88


@pytest.mark.parametrize(
    ("text", "closing", "values"),
    [
        ("a=1, b='x, y)', c=None)", ")", {"a": 1, "b": "x, y)", "c": None}),
        ("'a': True, 'b': \"it's\"}", "}", {"a": True, "b": "it's"}),
        (r"a='\'', b=2)", ")", {"a": "'", "b": 2}),
        ("a=[1, (2, 3)], b=4)", ")", {"a": "[1, (2, 3)]", "b": 4}),
        (")", ")", {}),
    ],
)
def test_arguments(text: str, closing: str, values: dict[str, object]) -> None:
    reading = read_arguments(text, closing=closing)
    assert reading.values == values
    assert reading.complete


@pytest.mark.parametrize("mutate", mutations.ALL, ids=lambda mutate: mutate.__name__)
def test_no_damage_makes_it_raise(mutate: mutations.Mutation) -> None:
    rng = random.Random(7)
    for case in CASES:
        data = (DATA / f"{case}.log").read_bytes()
        for _ in range(15):
            reading = read_startup(mutate(rng, data).decode("utf-8", "backslashreplace"))
            assert StartupReading.model_validate_json(reading.model_dump_json()) == reading
