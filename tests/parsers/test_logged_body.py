"""Answers as request logs and reports have them: a Python repr, quoted once more, in the middle of other text."""

from __future__ import annotations

import pytest

from tokgate.parsers.logged_body import MOST, read_logged_bodies

REPR = (
    "{'id': 'a}b', 'finish_reason': {'type': 'stop', 'matched': 2}, 'prompt_tokens': 600, 'completion_tokens': 70,"
    " 'cached_tokens': 1230, 'e2e_latency': 7.5, 'ttft_latency': 0.25, 'queue_latency': 0.001}"
)


@pytest.mark.parametrize(
    "text",
    [
        f"Finish: obj=GenerateReqInput(text='{{'), out={{'text': '}}', 'meta_info': {REPR}}}",
        "\\'meta_info\\': " + REPR.replace("'", "\\'") + "}'",
        "{'meta_info': " + REPR.replace(", ", ",\n  ") + "\n}",
        f'{{"meta_info": {REPR.replace(chr(39), chr(34))}}}',
    ],
    ids=["request log", "quoted again, a bracket too many", "wrapped", "JSON"],
)
def test_more_cached_than_prompted_is_a_contradiction_in_every_spelling(text: str) -> None:
    reading = read_logged_bodies(text)
    (answer,) = reading.answers
    assert not reading.unread
    assert (answer.prompt_tokens, answer.completion_tokens, answer.cached_tokens) == (600, 70, 1230)
    assert (answer.first_token_latency_s, answer.queue_time_s, answer.finish_reason) == (0.25, 0.001, "stop")
    assert len(answer.contradictions) == 1
    assert "cached_tokens 1230 > prompt_tokens 600" in answer.contradictions[0]


def test_answers_keep_their_order_and_a_cut_one_is_told_with_its_line() -> None:
    text = "\n".join(f"out={{'meta_info': {{'prompt_tokens': {n}}}}}" for n in (1, 2))
    reading = read_logged_bodies(text + "\nout={'meta_info': {'prompt_tokens': 3, 'finish")
    assert [answer.prompt_tokens for answer in reading.answers] == [1, 2]
    assert [(note.line, note.why) for note in reading.unread] == [(3, "incomplete, cut off inside meta_info")]


def test_what_is_no_literal_is_not_run() -> None:
    reading = read_logged_bodies("'meta_info': {'prompt_tokens': __import__('os').getpid()}")
    assert reading.answers == ()
    assert [note.why for note in reading.unread] == ["neither JSON nor a Python literal"]


def test_a_text_without_any_says_so() -> None:
    assert [note.why for note in read_logged_bodies("nothing here").unread] == ["no meta_info in it"]


def test_a_long_log_ends_somewhere() -> None:
    reading = read_logged_bodies("'meta_info': {}\n" * (MOST + 5))
    assert len(reading.answers) == MOST
    assert "more than" in reading.unread[-1].why
