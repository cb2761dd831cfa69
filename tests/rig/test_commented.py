"""A rig with its reasons: what is written is the data, whatever the comments say."""

from __future__ import annotations

import tomllib
from typing import Any

from tokgate.rig.commented import Page, written

DATA: dict[str, Any] = {
    "name": "x",
    "empty": [],
    "host": {"testinfra": "local://", "environment": {"A": "1"}},
    "arms": [{"name": "baseline", "args": {"a": True}}, {"name": "eagle3"}],
    "prompt_sets": {"mixed": {"kind": "text"}, "odd name": {"kind": "token-ids"}},
    "floors": {"cycle_ms": {"relative": 0.02, "absolute": 0.4}},
}


def test_what_is_written_is_the_data() -> None:
    assert tomllib.loads(written(Page(DATA))) == DATA


def test_comments_stand_where_they_belong_and_change_nothing() -> None:
    evil = 'x\n[server]\npython = "/evil"'
    page = Page(
        DATA,
        head=[":schema ./schema.json", "first", ""],
        above={("host",): [evil], ("arms", 1): ["the second"], ("floors",): ["word " * 60]},
        beside={("name",): evil, ("host", "testinfra"): "asked host", ("arms", 0, "name"): "default"},
        after={("host",): ["# left = 1"], ("arms",): ["# [[arms]]"]},
        parts={("arms",), ("prompt_sets", "mixed")},
    )
    text = written(page)
    assert tomllib.loads(text) == DATA
    lines = text.splitlines()
    assert lines[0] == "#:schema ./schema.json"
    assert lines[lines.index("[[arms]]", lines.index("# the second")) + 1].startswith('name = "eagle3"')
    assert any(line.startswith('testinfra = "local://"') and line.endswith("# asked host") for line in lines)
    assert lines.index("# left = 1") < lines.index("[host.environment]")
    assert max(map(len, lines)) <= 110


def test_a_reason_that_is_too_long_goes_above_its_value() -> None:
    lines = written(Page({"path": "/a" * 40}, beside={("path",): "because " * 8})).splitlines()
    assert lines[-2].startswith("# because")
    assert lines[-1] == f'path = "{"/a" * 40}"'
