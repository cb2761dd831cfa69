"""Secrets that nobody announced, told by how they look: tokens of well-known makers, passwords in addresses, NAME=value.

A pattern is tried only where its marks stand in the text, so that what a server logs by the megabyte is passed through quickly.
None takes a quote, a backslash or a blank into what it replaces: JSON, HTML and shell lines stay whole.
"""

from __future__ import annotations

import re
from typing import NamedTuple

SHOWN = "[redacted]"
_VALUE = r"[^\s\"'\\,;&<>()\[\]{}]{8,}"


class _Shape(NamedTuple):
    marks: tuple[str, ...]  # one of them stands in every text that the pattern matches
    pattern: re.Pattern[str]  # its group `kept` stays in front, the rest is the secret


def _shape(*marks: str, pattern: str) -> _Shape:
    return _Shape(marks, re.compile(pattern))


# The makers' own descriptions: https://huggingface.co/docs/hub/security-tokens, https://github.blog/2021-04-05-behind-githubs-new-authentication-token-formats/,
# https://docs.gitlab.com/security/tokens/, https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_identifiers.html, RFC 6750 (Bearer), RFC 7617 (Basic),
# RFC 7519 (JWT), RFC 3986 3.2.1 (userinfo), RFC 7468 (PEM).
_SHAPES = (
    _shape("hf_", pattern=r"(?P<kept>)\bhf_[A-Za-z0-9]{30,}"),
    _shape("gh", "github_pat_", pattern=r"(?P<kept>)\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{50,})"),
    _shape("glpat-", pattern=r"(?P<kept>)\bglpat-[\w-]{20,}"),
    _shape("sk-", pattern=r"(?P<kept>)(?<![\w-])sk-[A-Za-z0-9_-]{20,}"),
    _shape("xox", pattern=r"(?P<kept>)\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    _shape("AKIA", "ASIA", pattern=r"(?P<kept>)\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _shape("eyJ", pattern=r"(?P<kept>)\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}"),
    _shape("earer ", pattern=r"(?P<kept>\b[Bb]earer )[A-Za-z0-9._~+/=-]{8,}"),
    _shape("Basic ", pattern=r"(?P<kept>\b[Aa]uthorization['\"]?[:=] ?\\?['\"]?Basic )[A-Za-z0-9+/=]{6,}"),
    _shape("://", pattern=r"(?P<kept>://[^\s/?#@:\"'\\<>\[\]]*:)[^\s/?#@\"'\\<>\[\]]+(?=@)"),
    # A token may stand in the user's place; `ssh://me@box` is none.
    _shape("http", pattern=r"(?P<kept>https?://)[^\s/?#@:\"'\\<>\[\]]{8,}(?=@)"),
    _shape("KEY-----", pattern=r"(?P<kept>-----BEGIN [A-Z ]*PRIVATE KEY-----)[\s\S]*?(?=-----END|[\"']|$)"),
    _shape(
        "TOKEN=",
        "SECRET=",
        "PASSWORD=",
        "PASSWD=",
        "_KEY=",
        pattern=rf"(?P<kept>(?:_|\b)(?:TOKEN|SECRET|PASSWORD|PASSWD|API_KEY|ACCESS_KEY|SECRET_KEY)=\\?['\"]?){_VALUE}",
    ),
    # Settings as Python, JSON and query strings write them.
    _shape(
        "api_key",
        "api-key",
        "apikey",
        "assw",
        "secret",
        "_token",
        "-token",
        pattern=r"(?P<kept>(?:api[_-]?key|secret(?:[_-]key)?|passwo?r?d|access[_-]token|auth[_-]token|hf[_-]token)\\?['\"]?"
        rf"(?:=|: ?)\\?['\"]){_VALUE}",
    ),
    _shape(
        "key=",
        "token=",
        "ignature=",
        "password=",
        pattern=rf"(?P<kept>[?&](?:[\w-]+[_-])?(?:key|token|[Ss]ignature|password)=){_VALUE}",
    ),
)


def without_known_shapes(text: str) -> str:
    """Return `text` with what looks like a secret replaced; cleaning twice changes nothing more."""
    for shape in _SHAPES:
        if any(mark in text for mark in shape.marks):
            text = shape.pattern.sub(lambda found: found["kept"] + SHOWN, text)
    return text
