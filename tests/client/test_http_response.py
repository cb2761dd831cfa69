from __future__ import annotations

import random

import pytest

from tests.client.scripted_server import HEAD, chunk, whole_stream
from tokgate.client import http_response
from tokgate.client.exchange import Piece
from tokgate.client.http_response import HttpReading, ended_without_close, read_response, status_of

LENGTH = b"HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 5\r\n\r\n"


def cut(wire: bytes, size: int) -> list[Piece]:
    return [(i, wire[i : i + size]) for i in range(0, len(wire), size)]


def body_of(reading: HttpReading) -> bytes:
    return b"".join(data for _, data in reading.body)


@pytest.mark.parametrize("size", [1, 5, 64, 100_000])
def test_chunks_come_apart_wherever_the_network_cut_them(size: int) -> None:
    wire = HEAD + chunk(b"one") + chunk(b"two" * 50) + b"0\r\n\r\n"
    reading = read_response(cut(wire, size), closed=True)
    assert body_of(reading) == b"one" + b"two" * 50
    assert (reading.status, reading.complete, reading.cut, reading.garbled) == (200, True, None, None)
    assert reading.header("Content-Type") == "text/event-stream; charset=utf-8"
    assert reading.header("etag") is None


def test_every_stretch_of_body_keeps_the_time_of_its_piece() -> None:
    pieces = [(10, HEAD + chunk(b"a")), (20, chunk(b"b")), (30, b"2\r\nc"), (40, b"d\r\n0\r\n\r\n")]
    assert read_response(pieces, closed=True).body == ((10, b"a"), (20, b"b"), (30, b"c"), (40, b"d"))


@pytest.mark.parametrize(
    ("wire", "closed", "status", "body", "complete", "what"),
    [
        pytest.param(LENGTH + b"oops!", False, 404, b"oops!", True, None, id="length"),
        pytest.param(LENGTH + b"oop", True, 404, b"oop", False, "cut", id="short of its length"),
        pytest.param(b"HTTP/1.1 200 OK\r\n\r\nabc", True, 200, b"abc", True, None, id="until the close"),
        pytest.param(b"HTTP/1.0 200 OK\r\n\r\nabc", True, 200, b"abc", True, None, id="HTTP/1.0"),
        pytest.param(HEAD + chunk(b"a"), True, 200, b"a", False, "cut", id="no last chunk"),
        pytest.param(HEAD + chunk(b"a"), False, 200, b"a", False, "cut", id="still open"),
        pytest.param(b"", True, None, b"", False, "cut", id="nothing"),
        pytest.param(b"HTTP/1.1 200", True, None, b"", False, "cut", id="half a status line"),
        pytest.param(b"\x16\x03\x01\x02\x00" * 20, True, None, b"", False, "garbled", id="TLS"),
        pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n", True, None, b"", False, "garbled", id="SSH"),
        pytest.param(HEAD + b"zz\r\n", True, 200, b"", False, "garbled", id="no chunk size"),
        pytest.param(
            b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 20_000,
            True,
            None,
            b"",
            False,
            "garbled",
            id="endless head",
        ),
        pytest.param(
            b"HTTP/1.1 100 Continue\r\n\r\n" * 200 + LENGTH,
            True,
            None,
            b"",
            False,
            "garbled",
            id="endless 100",
        ),
        pytest.param(
            b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
            True,
            None,
            b"",
            False,
            "garbled",
            id="another protocol",
        ),
        pytest.param(
            b"HTTP/1.1 100 Continue\r\n\r\n" + LENGTH + b"oops!", True, 404, b"oops!", True, None, id="100"
        ),
    ],
)
def test_readings(
    *, wire: bytes, closed: bool, status: int | None, body: bytes, complete: bool, what: str | None
) -> None:
    reading = read_response(cut(wire, 4096), closed=closed)
    assert reading.status == status
    assert body_of(reading) == body
    assert reading.complete is complete
    assert (reading.garbled is not None) is (what == "garbled")
    assert (reading.cut is not None) is (what == "cut")


def test_bytes_after_the_end_are_noticed() -> None:
    assert read_response([(1, LENGTH + b"oops!more")], closed=True).trailing
    assert read_response([(1, LENGTH + b"oops!"), (2, b"more")], closed=True).trailing
    assert not read_response([(1, LENGTH + b"oops!")], closed=True).trailing


def test_a_stream_of_single_bytes_is_given_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_response, "DATA_LIMIT", 50)
    reading = read_response([(1, HEAD + chunk(b"x") * 200)], closed=True)
    assert reading.garbled == "more than 50 stretches of body"


@pytest.mark.parametrize("size", [1, 50, 100_000])
def test_the_status_needs_no_more_than_the_head(size: int) -> None:
    assert status_of(cut(LENGTH, size)) == 404
    assert status_of(cut(b"HTTP/1.1 100 Continue\r\n\r\n" + LENGTH, size)) == 404
    assert status_of(cut(LENGTH[:-1], size)) is None
    assert status_of([]) is None


@pytest.mark.parametrize("size", [1, 7, 100_000])
def test_the_end_is_seen_without_a_close(size: int) -> None:
    whole = b"".join(whole_stream(2))
    for wire in (whole, LENGTH + b"oops!", b"HTTP/1.1 100 Continue\r\n\r\n" + whole):
        assert ended_without_close(cut(wire, size))
        assert not ended_without_close(cut(wire[:-1], size))
    assert not ended_without_close(cut(b"HTTP/1.1 200 OK\r\n\r\nabc", size))
    assert not ended_without_close(cut(HEAD + b"b\r\nxxxxxx0\r\n\r\n", size))
    assert not ended_without_close([])


def test_noise_is_a_reading_and_never_an_exception() -> None:
    rng = random.Random(9)
    whole = b"".join(whole_stream(3))
    for _ in range(300):
        wire = bytearray(whole)
        for _ in range(rng.randrange(1, 30)):
            wire[rng.randrange(len(wire))] = rng.randrange(256)
        pieces = cut(bytes(wire[: rng.randrange(len(wire) + 1)]), rng.choice([3, 40, 4096]))
        for closed in (True, False):
            reading = read_response(pieces, closed=closed)
            assert not (reading.complete and (reading.garbled or reading.cut))
        ended_without_close(pieces)
        status_of(pieces)
