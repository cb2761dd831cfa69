"""Secrets that nobody announced: what a server, a test or a carried run folder says of them is not shown."""

from __future__ import annotations

import json

import pytest

from tokgate.records.redactor import Redactor, hidden
from tokgate.records.secret_shapes import without_known_shapes

TOKEN = "hf_" + "aB3" * 11 + "x"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"downloading with {TOKEN}, please wait", "downloading with [redacted], please wait"),
        ("Authorization: Bearer Zm9vYmFyYmF6", "Authorization: Bearer [redacted]"),
        ("https://bob:s3cret@hub.example/x", "https://bob:[redacted]@hub.example/x"),
        ("git+https://0123456789abcdef@hub.example", "git+https://[redacted]@hub.example"),
        ("export WANDB_API_KEY='abcdef012345'", "export WANDB_API_KEY='[redacted]'"),
        ("ServerArgs(admin_api_key='abcdef012345', tp=8)", "ServerArgs(admin_api_key='[redacted]', tp=8)"),
        (json.dumps({"a": '{"password": "correcthorse"}'}), json.dumps({"a": '{"password": "[redacted]"}'})),
        ("GET /v1?api_key=abcdef012345&x=1", "GET /v1?api_key=[redacted]&x=1"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----",
        ),
    ],
)
def test_a_secret_is_told_by_its_look(text: str, shown: str) -> None:
    assert without_known_shapes(text) == shown
    assert without_known_shapes(shown) == shown
    assert Redactor().clean(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "Decode batch, #running-req: 1, #token: 93, token usage: 0.00, accept len: 1.86",
        "max_total_tokens=409600000 TOKENIZERS_PARALLELISM=false HF_TOKEN_PATH=/home/me/token",
        "ssh://me@gpu7:22 http://127.0.0.1:8000/health user@example.com task-sk-learn",
        "tokenizer_path='/models/kimi-k2.5' num_draft_tokens='3' api_key='random'",
    ],
)
def test_what_only_resembles_one_stays(text: str) -> None:
    assert without_known_shapes(text) == text


def test_a_variable_is_secret_by_its_name_or_its_look() -> None:
    assert hidden("HF_TOKEN", "anything at all") == "[redacted]"
    assert hidden("HTTPS_PROXY", "http://me:s3cret@proxy:3128") == "http://me:[redacted]@proxy:3128"
    assert hidden("NCCL_ALGO", "Ring") == "Ring"
