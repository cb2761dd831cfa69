"""What the real server writes and says is read to the last line."""

from __future__ import annotations

import pytest

from tokgate.parsers.prometheus import series

from .conftest import SINGLE, TOGETHER, TOKENS, Told

pytestmark = pytest.mark.engine


def test_every_count_is_told_and_consistent(golden_plain: Told, golden_eagle3: Told) -> None:
    for told in (golden_plain, golden_eagle3):
        for prompt, answer in told.answers.items():
            counters = answer.counters
            assert counters is not None
            assert counters.dialect == "0.5.13"
            assert counters.unread == ()
            assert counters.contradictions == ()
            assert counters.prompt_tokens == len(prompt)
            assert counters.completion_tokens == TOKENS
            assert counters.cached_tokens == 0
            assert counters.decode_throughput is not None


def test_batch_lines_of_the_log_are_read(golden_plain: Told, golden_eagle3: Told) -> None:
    assert golden_plain.log.unread == golden_eagle3.log.unread == ()
    assert golden_plain.log.decode
    assert golden_eagle3.log.decode
    assert {line.accept_len for line in golden_plain.log.decode} == {None}
    for line in golden_eagle3.log.decode:
        assert line.accept_len is not None
        assert 1.0 <= line.accept_len <= 3.0


def test_metrics_count_the_tokens_that_were_generated(golden_eagle3: Told) -> None:
    assert golden_eagle3.metrics.unread == ()
    generated = sum(s.value for s in series(golden_eagle3.metrics, "sglang:generation_tokens_total"))
    # Beside the answers there is what readiness asked for.
    assert generated >= TOKENS * len(SINGLE + TOGETHER)


def test_the_server_tells_its_version(golden_plain: Told) -> None:
    assert golden_plain.run.sglang_version == "0.5.23"
    assert golden_plain.run.warnings == ()
