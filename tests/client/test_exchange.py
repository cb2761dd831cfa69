from __future__ import annotations

import json

import pytest

from tokgate.client.exchange import Endpoint, Request, Target, request_bytes


@pytest.mark.parametrize(
    ("endpoint", "path"),
    [
        ("generate", b"/generate"),
        ("completions", b"/v1/completions"),
        ("chat", b"/v1/chat/completions"),
    ],
)
def test_the_whole_request(endpoint: Endpoint, path: bytes) -> None:
    payload = {"text": "né", "stream": True}
    wire = request_bytes(Target("gpu7", 30000, "k"), Request("r", endpoint, payload, 3))
    head, _, body = wire.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"POST " + path + b" HTTP/1.1"
    assert b"Host: gpu7:30000" in lines
    assert b"Connection: close" in lines
    assert b"Accept-Encoding: identity" in lines
    assert b"Authorization: Bearer k" in lines
    assert b"Content-Length: " + str(len(body)).encode() in lines
    assert json.loads(body) == payload


def test_no_key_is_no_header_and_an_ipv6_address_is_bracketed() -> None:
    wire = request_bytes(Target("::1", 80), Request("r", "generate", {}, 1))
    assert b"Authorization" not in wire
    assert b"Host: [::1]:80\r\n" in wire


def test_a_key_is_never_shown() -> None:
    assert "secret" not in repr(Target("h", 1, "secret"))
