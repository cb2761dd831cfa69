"""What run_batch gives for every way a server can behave; the server is real, on a loopback socket."""

from __future__ import annotations

import gc
import socket
import threading
import time

import pytest

from tests.client.scripted_server import DONE, END, HEAD, Connection, Script, event, serving, whole_stream
from tokgate.client.exchange import RawResponse, Request, Target
from tokgate.client.stream import run_batch
from tokgate.records import GenerationStatus


def ask(count: int = 1, *, pad: int = 0) -> list[Request]:
    body = {"text": "x" * pad, "stream": True}
    return [Request(f"r{i}", "generate", body, 3) for i in range(count)]


def one(script: Script, *, timeout_s: float = 20.0, response_limit: int = 1 << 26) -> RawResponse:
    with serving(script) as target:
        (response,) = run_batch(target, ask(), timeout_s=timeout_s, response_limit=response_limit).responses
    return response


def answer(*parts: bytes) -> Script:
    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(*parts)

    return script


def test_bytes_are_kept_as_they_came_with_times_in_order() -> None:
    before = time.monotonic_ns()
    response = one(answer(*whole_stream(3)))
    assert response.wire == b"".join(whole_stream(3))
    assert (response.status, response.kind, response.error) == (200, None, None)
    stamps = [ns for ns, _ in response.pieces]
    assert stamps == sorted(stamps)
    assert response.first_byte_ns == stamps[0]
    assert before < response.sent_ns < stamps[0] <= stamps[-1] <= response.end_ns < time.monotonic_ns()


def test_an_arrival_is_never_stamped_before_it_was_sent() -> None:
    sent: list[int] = []

    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(HEAD)
        for n in range(1, 200):
            sent.append(time.monotonic_ns())
            connection.send(event(n))

    response = one(script)
    # Byte number n of the stream was sent at sent[i] of the event it belongs to.
    ends, position = [], len(HEAD)
    for n in range(1, 200):
        position += len(event(n))
        ends.append(position)
    received, arrivals = 0, iter(zip(ends, sent, strict=True))
    end, sent_ns = next(arrivals)
    for stamp, data in response.pieces:
        received += len(data)
        while received >= end:
            assert stamp >= sent_ns
            end, sent_ns = next(arrivals, (1 << 60, 0))


def test_all_requests_are_under_way_at_once() -> None:
    """A server that answers nobody before all have asked would otherwise wait for ever."""
    all_here = threading.Barrier(8)

    def script(connection: Connection) -> None:
        connection.read_request()
        all_here.wait(20)
        connection.send(*whole_stream(3))

    with serving(script) as target:
        outcome = run_batch(target, ask(8), timeout_s=20)
    assert [response.request.request_id for response in outcome.responses] == [f"r{i}" for i in range(8)]
    assert {response.kind for response in outcome.responses} == {None}
    last_sent = max(response.sent_ns for response in outcome.responses)
    assert all(last_sent < (response.first_byte_ns or 0) for response in outcome.responses)
    assert outcome.load.events == 8 * 4
    assert 0 < outcome.load.cpu_s <= outcome.load.wall_s


def test_nothing_asked_is_nothing_answered() -> None:
    assert run_batch(Target("127.0.0.1", 1), [], timeout_s=1).responses == ()


def test_a_request_larger_than_the_kernel_takes_is_sent_whole() -> None:
    got: list[int] = []

    def script(connection: Connection) -> None:
        got.append(len(connection.read_request()))
        connection.send(*whole_stream(3))

    with serving(script) as target:
        (response,) = run_batch(target, ask(pad=8_000_000), timeout_s=20).responses
    assert response.kind is None
    assert got[0] > 8_000_000


def test_a_server_that_answers_without_reading_and_closes() -> None:
    def script(connection: Connection) -> None:
        connection.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")

    with serving(script) as target:
        (response,) = run_batch(target, ask(pad=8_000_000), timeout_s=20).responses
    # The close resets the connection under our request: what came before is kept if the kernel still has it.
    assert response.status in (413, None)
    assert response.kind in (None, GenerationStatus.CUT)


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    responses = run_batch(Target("127.0.0.1", port), ask(2), timeout_s=5).responses
    assert [response.kind for response in responses] == [GenerationStatus.REFUSED] * 2
    assert responses[0].error == "ECONNREFUSED: Connection refused"
    assert responses[0].pieces == ()
    assert responses[0].sent_ns == responses[0].end_ns


def test_a_name_that_nobody_knows() -> None:
    (response,) = run_batch(Target("no.such.host.invalid", 80), ask(), timeout_s=5).responses
    assert response.kind is GenerationStatus.REFUSED
    assert "no.such.host.invalid" in (response.error or "")


def test_the_second_address_of_a_name_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    """On many machines localhost is ::1 first on many machines, and SGLang listens on 127.0.0.1."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        nobody = listener.getsockname()
    with serving(answer(*whole_stream(3))) as target:
        there = ("127.0.0.1", target.port)
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", address) for address in (nobody, there)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
        (response,) = run_batch(Target("localhost", 1), ask(), timeout_s=5).responses
    assert (response.status, response.kind) == (200, None)


def test_a_server_that_does_not_accept() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(3)]
        for sock in waiting:  # fill the queue: the kernel drops the next SYN
            sock.setblocking(False)
            sock.connect_ex(("127.0.0.1", port))
        (response,) = run_batch(
            Target("127.0.0.1", port), ask(), timeout_s=5, connect_timeout_s=0.3
        ).responses
        for sock in waiting:
            sock.close()
    assert (response.kind, response.error) == (GenerationStatus.REFUSED, "no connection before the limit")


def test_reset_in_the_middle() -> None:
    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(HEAD, event(1))
        connection.reset()

    response = one(script)
    assert response.kind is GenerationStatus.CUT
    assert (response.error or "").startswith("ECONNRESET: Connection reset by peer (")
    assert response.status == 200


def test_closed_in_order_is_left_to_the_reader() -> None:
    response = one(answer(HEAD, event(1)))
    assert (response.kind, response.error, response.status) == (None, None, 200)


def test_closed_without_a_byte() -> None:
    response = one(answer())
    assert (response.kind, response.status, response.first_byte_ns) == (None, None, None)


def test_silence_ends_at_the_limit() -> None:
    def script(connection: Connection) -> None:
        connection.read_request()
        connection.hold()

    response = one(script, timeout_s=0.3)
    assert response.kind is GenerationStatus.TIMED_OUT
    assert response.error == "not ended after 0.3 s (no byte received)"
    assert 0.25e9 < response.end_ns - response.sent_ns < 5e9


def test_the_limit_is_of_the_batch_and_those_that_ended_stay_good() -> None:
    first = threading.Lock()

    def script(connection: Connection) -> None:
        connection.read_request()
        if first.acquire(blocking=False):
            connection.send(*whole_stream(3))
            return
        connection.send(HEAD, event(1))
        connection.hold()

    with serving(script) as target:
        responses = run_batch(target, ask(3), timeout_s=1.5).responses
    kinds = [response.kind for response in responses]
    assert sorted(kinds, key=str) == [None, GenerationStatus.TIMED_OUT, GenerationStatus.TIMED_OUT]


def test_a_drip_ends_at_the_limit_too() -> None:
    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(HEAD)
        while not connection.over.wait(0.01):
            connection.send(b"1\r\nx\r\n")

    response = one(script, timeout_s=0.4)
    assert response.kind is GenerationStatus.TIMED_OUT
    assert "pieces received" in (response.error or "")


def test_a_flood_is_given_up_on_and_memory_stays_bounded() -> None:
    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(HEAD)
        while not connection.over.is_set():
            connection.send(b"10000\r\n" + b"x" * 65536 + b"\r\n")

    response = one(script, response_limit=2_000_000)
    assert response.kind is GenerationStatus.GARBLED
    assert "more than 2000000 bytes" in (response.error or "")
    assert len(response.wire) < 2_100_000


def test_a_head_that_never_ends() -> None:
    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(b"HTTP/1.1 200 OK\r\n", b"x-a: b\r\n" * 20_000)
        connection.hold()

    response = one(script)
    assert response.kind is GenerationStatus.GARBLED
    assert "no end of head" in (response.error or "")


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param(whole_stream(3), id="chunked"),
        pytest.param([b"HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\noops"], id="content-length"),
        pytest.param([b"HTTP/1.1 100 Continue\r\n\r\n", *whole_stream(3)], id="100-continue"),
    ],
)
def test_a_server_that_ignores_connection_close(parts: list[bytes]) -> None:
    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(*parts)
        connection.hold()

    response = one(script, timeout_s=20)
    assert (response.kind, response.error) == (None, None)
    assert response.wire == b"".join(parts)
    assert response.end_ns - response.sent_ns < 10e9


def test_quiet_streams_are_not_taken_for_ended_ones() -> None:
    """Pauses of several looks between the pieces, one of them right after what could be an end."""

    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(HEAD, b"a\r\nxxxxx0\r\n\r\n")  # an end that is only text, half of its chunk
        connection.over.wait(0.35)
        connection.send(b"\r\n", event(3, finish=True), DONE, END)

    response = one(script)
    assert response.wire.endswith(DONE + END)


def test_the_caller_can_give_up() -> None:
    asked: list[float] = []

    def should_stop() -> str | None:
        asked.append(time.monotonic())
        return "the server process has ended" if len(asked) == 3 else None

    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(HEAD, event(1))
        connection.hold()

    with serving(script) as target:
        responses = run_batch(target, ask(2), timeout_s=20, should_stop=should_stop).responses
    assert {response.kind for response in responses} == {GenerationStatus.CUT}
    assert (responses[0].error or "").startswith("given up: the server process has ended (")
    assert responses[0].status == 200
    assert len(asked) == 3


def test_an_error_of_the_caller_leaves_no_socket_behind() -> None:
    def should_stop() -> str | None:
        raise RuntimeError("mine")

    def script(connection: Connection) -> None:
        connection.read_request()
        assert connection.sock.recv(1) == b""  # the client hangs up

    with serving(script) as target, pytest.raises(RuntimeError, match="mine"):
        run_batch(target, ask(), timeout_s=20, should_stop=should_stop)


@pytest.mark.parametrize("enabled", [True, False])
def test_collection_is_as_it_was(enabled: bool) -> None:
    during: list[bool] = []

    def script(connection: Connection) -> None:
        connection.read_request()
        during.append(gc.isenabled())
        connection.send(*whole_stream(1))

    was = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        one(script)
        assert gc.isenabled() is enabled
        assert during == [False]
    finally:
        (gc.enable if was else gc.disable)()
