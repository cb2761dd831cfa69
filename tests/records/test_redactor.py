from __future__ import annotations

import json
import shlex
from urllib.parse import quote

import pytest

from tokgate.records.redactor import Redactor, without_secret_arguments

SECRET = 'k"e/y\\ü 0123'


@pytest.fixture
def redactor() -> Redactor:
    redactor = Redactor()
    redactor.add(SECRET)
    return redactor


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {SECRET}",
        json.dumps({"api_key": SECRET}),
        json.dumps({"api_key": SECRET}, ensure_ascii=False),
        f"server_args=ServerArgs(api_key={SECRET!r})",
        f"http://x/?key={quote(SECRET)}",
        f"http://x/?key={quote(SECRET, safe='')}",
        f"--api-key {shlex.quote(SECRET)}",
        f"{SECRET}{SECRET}",
    ],
)
def test_a_secret_is_found_as_written_anywhere(redactor: Redactor, text: str) -> None:
    clean = redactor.clean(text)
    assert "0123" not in clean
    assert "[redacted]" in clean


def test_text_without_a_secret_stays(redactor: Redactor) -> None:
    assert redactor.clean("decode 94.0 tok/s 0123") == "decode 94.0 tok/s 0123"
    assert Redactor().clean(SECRET) == SECRET


def test_a_secret_inside_another_leaves_nothing_standing() -> None:
    redactor = Redactor()
    redactor.add("inner-secret")
    redactor.add("outer-inner-secret-tail")
    assert redactor.clean("outer-inner-secret-tail, inner-secret") == "[redacted], [redacted]"


def test_json_values_are_cleaned_whole(redactor: Redactor) -> None:
    value = {"a": [SECRET, 1, None, (SECRET, True)], f"key {SECRET}": {"b": 1.5}, 7: "x"}
    assert redactor.clean_json(value) == {
        "a": ["[redacted]", 1, None, ["[redacted]", True]],
        "key [redacted]": {"b": 1.5},
        7: "x",
    }


@pytest.mark.parametrize("secret", ["", "abc"])
def test_what_cannot_be_hidden_is_refused(secret: str) -> None:
    with pytest.raises(ValueError, match="cannot be hidden"):
        Redactor().add(secret)


def test_it_does_not_show_what_it_hides(redactor: Redactor) -> None:
    assert "0123" not in repr(redactor)


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (
            "python -m sglang.launch_server --api-key k3y --tp 8",
            "python -m sglang.launch_server --api-key [redacted] --tp 8",
        ),
        ("serve --api_key=k3y", "serve --api_key=[redacted]"),
        ("serve --admin-api-key  k3y", "serve --admin-api-key  [redacted]"),
        ("env HF_TOKEN=k3y vllm serve", "env HF_TOKEN=[redacted] vllm serve"),
        ("mysqld --password k3y", "mysqld --password [redacted]"),
    ],
)
def test_another_ones_command_line_shows_no_secret(command: str, shown: str) -> None:
    assert without_secret_arguments(command) == shown


@pytest.mark.parametrize(
    "command",
    [
        "serve --max-total-tokens 4096",
        "serve --skip-tokenizer-init --tp 8",
        "serve --api-key --tp 8",
        "sglang::scheduler_TP0",
        "",
    ],
)
def test_what_is_no_secret_stays(command: str) -> None:
    assert without_secret_arguments(command) == command


def test_variables_are_secret_by_the_end_of_their_names() -> None:
    redactor = Redactor()
    redactor.add_named(
        {
            "HF_TOKEN": "hf_0123456789",
            "AWS_SECRET_ACCESS_KEY": "aws/0123456789",
            "admin_api_key": "sk-0123456789",
            "TOKENIZERS_PARALLELISM": "parallel",
            "HF_TOKEN_PATH": "/home/me/token",
            "MY_TOKEN": "false",  # hidden everywhere, it would break every JSON file
        }.items()
    )
    told = json.dumps(
        ["hf_0123456789", "aws/0123456789", "sk-0123456789", "parallel", "/home/me/token", False]
    )
    assert json.loads(redactor.clean(told)) == [*["[redacted]"] * 3, "parallel", "/home/me/token", False]
