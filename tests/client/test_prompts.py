from __future__ import annotations

import json
from pathlib import Path

import pytest

from tokgate.client.prompts import PromptValue, distinct_prompts, payload, prompt
from tokgate.errors import RigError, UsageError
from tokgate.rig.workload import TextPrompts, TokenIdPrompts

IDS = TokenIdPrompts(kind="token-ids", length=16, first_id=100, last_id=299, seed=7)
HERE = Path()


def ids_of(index: int, prompt_set: TokenIdPrompts = IDS) -> tuple[int, ...]:
    ids = prompt(prompt_set, index, root=HERE).ids
    assert ids is not None
    return ids


def test_these_ids_never_change() -> None:
    """A stored baseline is only worth something while prompt 3 is the same prompt."""
    assert ids_of(3) == (112, 261, 242, 133, 139, 247, 132, 226, 168, 210, 212, 238, 277, 256, 280, 212)


def test_a_prompt_depends_on_seed_and_index_alone() -> None:
    assert ids_of(5) == ids_of(5)
    other_seed = IDS.model_copy(update={"seed": 8})
    assert ids_of(5) != ids_of(5, other_seed)
    longer = IDS.model_copy(update={"length": 32})
    assert ids_of(5, longer)[:16] == ids_of(5)


def test_ids_stay_in_range_and_use_all_of_it() -> None:
    seen = {token for index in range(200) for token in ids_of(index)}
    assert seen == set(range(100, 300))


def test_no_two_prompts_share_a_beginning() -> None:
    """Otherwise the prefix cache would answer part of a prompt that was never sent before."""
    assert distinct_prompts(IDS, root=HERE) == 200
    assert len({ids_of(index)[0] for index in range(200)}) == 200


def test_one_id_is_a_vocabulary_too() -> None:
    tiny = TokenIdPrompts(kind="token-ids", length=3, first_id=9, last_id=9)
    assert ids_of(0, tiny) == (9, 9, 9)
    assert distinct_prompts(tiny, root=HERE) == 1


def test_an_empty_range_is_the_rigs_fault() -> None:
    with pytest.raises(RigError, match="first_id 9, last_id 8"):
        ids_of(0, TokenIdPrompts(kind="token-ids", length=3, first_id=9, last_id=8))


def test_texts_in_order_and_round_again(tmp_path: Path) -> None:
    (tmp_path / "some.jsonl").write_text('{"text": "a"}\n\n{"text": "é", "more": 1}\n{"text": "a"}\n')
    texts = TextPrompts(kind="text", file="some.jsonl")
    assert [prompt(texts, i, root=tmp_path).text for i in range(5)] == ["a", "é", "a", "a", "é"]
    assert distinct_prompts(texts, root=tmp_path) == 2


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (None, "No such file"),
        (b"", "no line in it"),
        (b'{"text": "a"}\n{"text": \n', 'line 2 is not {"text"'),
        (b'["text"]\n', 'line 1 is not {"text"'),
        (b'{"text": ""}\n', "line 1: text is ''"),
        (b'{"text": 5}\n', "line 1: text is 5"),
        (b'{"text": "\xff"}\n', "can't decode byte"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, content: bytes | None, found: str) -> None:
    path = tmp_path / "bad.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(RigError) as caught:
        prompt(TextPrompts(kind="text", file="bad.jsonl"), 0, root=tmp_path)
    assert found in caught.value.found
    assert str(path) in caught.value.tried


TEXT = PromptValue(text="hello")
TOKENS = PromptValue(ids=(4, 5))


def test_generate_asks_for_exactly_that_many_tokens() -> None:
    body = payload("generate", TOKENS, output_tokens=9, request_id="r")
    assert body == {
        "rid": "r",
        "input_ids": [4, 5],
        "sampling_params": {"temperature": 0, "max_new_tokens": 9, "ignore_eos": True},
        "stream": True,
    }
    text = payload("generate", TEXT, output_tokens=9, request_id="r", top_logprobs=2)
    assert text["text"] == "hello"
    assert (text["return_logprob"], text["top_logprobs_num"]) == (True, 2)
    assert "input_ids" not in text


def test_openai_endpoints_ask_for_every_count() -> None:
    for body in (
        payload("completions", TOKENS, output_tokens=9, request_id="r"),
        payload("chat", TEXT, output_tokens=9, request_id="r"),
    ):
        assert (body["max_tokens"], body["temperature"], body["ignore_eos"], body["rid"]) == (9, 0, True, "r")
        assert body["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
        assert body["return_spec_tokens_details"]
        json.dumps(body)
    assert payload("completions", TOKENS, output_tokens=9, request_id="r")["prompt"] == [4, 5]
    messages = payload("chat", TEXT, output_tokens=9, request_id="r")["messages"]
    assert messages == [{"role": "user", "content": "hello"}]


def test_not_streamed_has_no_stream_options() -> None:
    body = payload("completions", TEXT, output_tokens=1, request_id="r", stream=False)
    assert body["stream"] is False
    assert "stream_options" not in body


def test_what_an_endpoint_cannot_take() -> None:
    with pytest.raises(UsageError, match="takes messages"):
        payload("chat", TOKENS, output_tokens=1, request_id="r")
    for endpoint in ("completions", "chat"):
        with pytest.raises(UsageError, match="near-tie"):
            payload(endpoint, TEXT, output_tokens=1, request_id="r", top_logprobs=2)
