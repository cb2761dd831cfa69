"""Error bodies of SGLang, and how a body is read."""

from __future__ import annotations

import json
import re
from typing import Any

from simbox.http_connection import Exchange


class BadRequestError(Exception):
    """An answer other than 200: its status and message."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class Refused(Exception):  # noqa: N818 - not an error of ours: the answer has been sent
    """The body could not be read; the refusal is on the wire."""


def read_json(exchange: Exchange, function: str) -> dict[str, Any]:
    """Read the body as FastAPI does, and refuse it in its words. `function`: what its message names."""
    try:
        body = json.loads(exchange.body)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        at = getattr(error, "pos", 0)
        what = getattr(error, "msg", "invalid text")
        detail = f"{{'type': 'json_invalid', 'loc': ('body', {at}), 'msg': 'JSON decode error', 'input': {{}}, 'ctx': {{'error': {what!r}}}}}"
        _validation(exchange, detail, function)
        raise Refused from error
    if not isinstance(body, dict):
        detail = "{'type': 'model_attributes_type', 'loc': ('body',), 'msg': 'Input should be a valid dictionary or object to extract fields from'}"
        _validation(exchange, detail, function)
        raise Refused
    return body


def missing(exchange: Exchange, field: str, function: str) -> None:
    """Say that a required field is not there."""
    _validation(
        exchange, f"{{'type': 'missing', 'loc': ('body', {field!r}), 'msg': 'Field required'}}", function
    )


def _validation(exchange: Exchange, detail: str, function: str) -> None:
    where = f'  File "/simbox/sglang/srt/entrypoints/http_server.py", line 1, in {function}\n    {exchange.method} {exchange.path} [{detail}]'
    openai(exchange, f"1 validation error:\n  {detail}\n\n{where}", kind="Bad Request")


def native(exchange: Exchange, message: str, status: int = 400) -> None:
    """Answer as /generate does."""
    exchange.answer_json(status, {"error": {"message": message}})


def openai(exchange: Exchange, message: str, status: int = 400, kind: str = "BadRequestError") -> None:
    """Answer as /v1/* does."""
    body = {"object": "error", "message": message, "type": kind, "param": None, "code": status}
    exchange.answer_json(status, body)


def streamed(exchange: Exchange, message: str) -> None:
    """Answer 200, an error event and [DONE]: what SGLang does to a bad request that wanted a stream."""
    error = {"message": message, "type": "invalid_request_error", "code": 400, "retryable": False}
    exchange.stream()
    exchange.event(b"data: " + json.dumps({"error": error}, separators=(",", ":")).encode() + b"\n\n")
    exchange.event(b"data: [DONE]\n\n")
    exchange.end_stream()


def authorised(exchange: Exchange, api_key: str | None) -> bool:
    """Bearer token, asked for everywhere but at health and metrics."""
    open_to_all = re.match(r"/(health|ready|metrics)", exchange.path) or exchange.method == "OPTIONS"
    if not api_key or open_to_all:
        return True
    kind, _, token = exchange.headers.get("authorization", "").partition(" ")
    return kind.lower() == "bearer" and token == api_key
