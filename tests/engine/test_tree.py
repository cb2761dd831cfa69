"""Drafts in a tree: the accepted path is moved to the front of the cache, which only the context pair would notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden import ContextPair, predict

from .acceptance import exact_part
from .conftest import SINGLE, TOGETHER, TOKENS
from .engine import NATURAL, ask, engine_rig, serving, with_tree

pytestmark = [pytest.mark.engine, pytest.mark.slow]


def test_a_tree_is_lossless(context: ContextPair, tmp_path: Path) -> None:
    rig = with_tree(engine_rig("context"), NATURAL, steps=3, topk=4, tokens=8)
    with serving(rig, NATURAL, tmp_path) as server:
        answers = ask(server, SINGLE, tokens=TOKENS) + ask(server, TOGETHER, tokens=TOKENS, at_once=4)
    for prompt, answer in zip(SINGLE + TOGETHER, answers, strict=True):
        told = exact_part(answer)
        assert told.output_ids == predict(context, prompt, tokens=TOKENS, draft_steps=0).output_ids
        assert TOKENS / told.verify_ct > 1.5
