"""From bytes on the wire to a generation: every way to fail keeps its own name, and only a whole one is good."""

from __future__ import annotations

import hashlib
import random

import pytest

from tests.client.scripted_server import DONE, END, HEAD, chunk, event, whole_stream
from tokgate.client.exchange import Endpoint, Piece, RawResponse, Request
from tokgate.client.http_response import status_of
from tokgate.client.interpret import interpret
from tokgate.records import Generation, GenerationStatus

GOOD, REFUSED, HTTP_ERROR, TIMED_OUT, CUT, SHORT, GARBLED = GenerationStatus


def raw(
    *parts: bytes,
    kind: GenerationStatus | None = None,
    error: str | None = None,
    asked: int = 3,
    endpoint: Endpoint = "generate",
) -> RawResponse:
    """Part i arrives at 1000 + i; the connection ends at 9000."""
    pieces: tuple[Piece, ...] = tuple((1000 + i, part) for i, part in enumerate(parts) if part)
    return RawResponse(
        request=Request("r-1", endpoint, {}, asked),
        sent_ns=500,
        first_byte_ns=pieces[0][0] if pieces else None,
        end_ns=9000,
        pieces=pieces,
        status=status_of(pieces),
        error=error,
        kind=kind,
    )


def read(response: RawResponse) -> Generation:
    return interpret(response, launch="01-baseline", workload="single", index=4, slot=1, batch=2)


def test_a_good_one() -> None:
    generation = read(raw(*whole_stream(3)))
    assert (generation.status, generation.why, generation.warnings) == (GOOD, None, ())
    assert (generation.launch, generation.workload) == ("01-baseline", "single")
    assert (generation.index, generation.slot, generation.batch) == (4, 1, 2)
    assert generation.request_id == "r-1"
    assert generation.http_status == 200
    assert (generation.sent_ns, generation.first_byte_ns) == (500, 1000)
    assert generation.chunk_ns == (1001, 1002, 1003)
    assert generation.chunk_tokens == (1, 2, 3)
    assert generation.end_ns == 1004  # the [DONE], not the close
    assert generation.output_ids == (7, 7, 7)
    assert generation.text_sha256 == hashlib.sha256(b"xxx").hexdigest()
    assert generation.counters is not None
    assert generation.counters.completion_tokens == 3
    assert generation.counters.contradictions == ()


ERROR_EVENT = chunk(b'data: {"error":{"message":"too long","code":400}}\n\n')
NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 22\r\n\r\n" + b'{"detail":"Not Found"}'
GZIP = HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
FINISHED_BY_STOP = event(2, finish=True).replace(b'"length","length":2', b'"stop","matched":10')


@pytest.mark.parametrize(
    ("response", "status", "why"),
    [
        pytest.param(raw(kind=REFUSED, error="ECONNREFUSED: no"), REFUSED, "ECONNREFUSED: no", id="refused"),
        pytest.param(raw(NOT_FOUND), HTTP_ERROR, 'HTTP 404: {"detail":"Not Found"}', id="404"),
        pytest.param(
            raw(NOT_FOUND[:-8], kind=TIMED_OUT, error="slow"),
            HTTP_ERROR,
            'HTTP 404: {"detail":"No',
            id="404 cut",
        ),
        pytest.param(
            raw(b"HTTP/1.1 500 Oops\r\nContent-Length: 0\r\n\r\n"),
            HTTP_ERROR,
            "HTTP 500: (empty body)",
            id="500",
        ),
        pytest.param(
            raw(HEAD, ERROR_EVENT, DONE, END),
            HTTP_ERROR,
            "error inside the stream: too long (code 400)",
            id="error event",
        ),
        pytest.param(
            raw(HEAD, event(1), ERROR_EVENT, kind=CUT, error="reset"),
            HTTP_ERROR,
            "error inside the stream: too long (code 400)",
            id="error event, then reset",
        ),
        pytest.param(raw(kind=TIMED_OUT, error="no byte"), TIMED_OUT, "no byte", id="silence"),
        pytest.param(raw(HEAD, event(1), kind=TIMED_OUT, error="late"), TIMED_OUT, "late", id="too slow"),
        pytest.param(raw(HEAD, event(1), kind=CUT, error="ECONNRESET"), CUT, "ECONNRESET", id="reset"),
        pytest.param(raw(), CUT, "the server closed the connection without a byte", id="closed at once"),
        pytest.param(
            raw(HEAD, event(1)), CUT, "closed before the response was whole: peer closed", id="closed early"
        ),
        pytest.param(
            raw(HEAD, event(3, finish=True), END), CUT, "the stream ended before its [DONE]", id="no [DONE]"
        ),
        pytest.param(raw(HEAD, event(3), DONE, END), CUT, "[DONE] without a finish reason", id="no finish"),
        pytest.param(raw(*whole_stream(2)), SHORT, "2 of 3 tokens, finished by length", id="short"),
        pytest.param(
            raw(HEAD, FINISHED_BY_STOP, DONE, END), SHORT, "2 of 3 tokens, finished by stop", id="stopped"
        ),
        pytest.param(raw(b"SSH-2.0\r\n" * 9), GARBLED, "not HTTP/1.1", id="another protocol"),
        pytest.param(
            raw(*whole_stream(3), kind=GARBLED, error="more than 64 MiB"),
            GARBLED,
            "more than 64 MiB",
            id="flood",
        ),
        pytest.param(
            raw(GZIP, chunk(b"\x1f\x8b\x08"), END),
            GARBLED,
            "the server compressed the stream (gzip)",
            id="gzip",
        ),
        pytest.param(
            raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"),
            GARBLED,
            "no event stream: {}",
            id="plain JSON",
        ),
        pytest.param(
            raw(HEAD, event(1), chunk(b"data: {oops\n\n"), event(3, finish=True), DONE, END),
            GARBLED,
            "Expecting property name",
            id="broken event",
        ),
    ],
)
def test_failures(response: RawResponse, status: GenerationStatus, why: str) -> None:
    generation = read(response)
    assert generation.status is status
    assert not generation.good
    assert generation.why is not None
    assert generation.why.startswith(why)


def test_what_a_failed_one_did_bring_is_kept() -> None:
    generation = read(raw(HEAD, event(1), event(2), kind=CUT, error="ECONNRESET"))
    assert generation.chunk_ns == (1001, 1002)
    assert generation.output_ids == (7, 7)
    assert generation.end_ns == 9000


def test_a_missing_last_chunk_after_done_is_a_warning() -> None:
    generation = read(raw(*whole_stream(3)[:-1]))
    assert generation.good
    assert generation.warnings
    assert "after its [DONE]" in generation.warnings[0]


def test_more_tokens_than_asked_for_contradict() -> None:
    generation = read(raw(*whole_stream(3), asked=2))
    assert generation.good
    assert generation.counters is not None
    assert generation.counters.contradictions == ("3 tokens, 2 were asked for",)
    assert generation.warnings == ("counters: 3 tokens, 2 were asked for",)


def test_ids_and_counts_that_differ_contradict() -> None:
    wire = [HEAD, event(3, finish=True).replace(b"[7,7,7]", b"[7,7,7,7,7]"), DONE, END]
    whole = b"".join(wire)
    size = len(wire[1].split(b"\r\n")[1])
    whole = whole.replace(wire[1].split(b"\r\n")[0] + b"\r\n", b"%x\r\n" % size, 1)
    generation = read(raw(whole))
    assert generation.counters is not None
    assert generation.counters.contradictions == ("5 output ids, completion_tokens 3",)


def test_the_other_endpoints_are_read_by_their_own_shape() -> None:
    usage = b'"usage":{"prompt_tokens":2,"completion_tokens":%d}'
    completions = [
        chunk(
            b'data: {"choices":[{"text":"a","finish_reason":"length","token_ids":[5,6,7]}],'
            + usage % 3
            + b"}\n\n"
        ),
        chunk(b'data: {"choices":[],' + usage % 3 + b"}\n\n"),
    ]
    generation = read(raw(HEAD, *completions, DONE, END, endpoint="completions"))
    assert generation.good
    assert generation.output_ids == (5, 6, 7)
    chat = [chunk(part.replace(b'"text":"a"', b'"delta":{"content":"a"}')) for part in completions]
    assert not read(raw(HEAD, *chat, DONE, END, endpoint="generate")).good


def test_hostile_bytes_make_a_record_that_can_be_written_and_read() -> None:
    rng = random.Random(3)
    whole = b"".join(whole_stream(3))
    for _ in range(300):
        wire = bytearray(whole)
        for _ in range(rng.randrange(1, 40)):
            wire[rng.randrange(len(wire))] = rng.randrange(256)
        for endpoint in ("generate", "completions", "chat"):
            generation = read(raw(bytes(wire[:100]), bytes(wire[100:]), endpoint=endpoint))
            assert generation.good or generation.why
            assert Generation.model_validate_json(generation.model_dump_json()) == generation
