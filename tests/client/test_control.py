from __future__ import annotations

import json
from collections.abc import Callable

import httpx
import pytest

from tests.client.scripted_server import Connection, serving
from tokgate.client.control import Control, Timeouts
from tokgate.client.prompts import PromptValue
from tokgate.errors import BenchFault, ServerLost

Answer = Callable[[httpx.Request], httpx.Response]


def control(answer: Answer, *, pauses: list[float] | None = None) -> Control:
    return Control(
        "http://gpu7:30000/",
        "the-key",
        transport=httpx.MockTransport(answer),
        pause=(pauses if pauses is not None else []).append,
    )


def reply(status: int, text: str | bytes = "", headers: dict[str, str] | None = None) -> httpx.Response:
    """Answer as a network does: the body is still to be read."""
    body = text.encode() if isinstance(text, str) else text
    return httpx.Response(status, stream=httpx.ByteStream(body), headers=headers)


def always(status: int, text: str | bytes = "") -> Answer:
    return lambda _: reply(status, text)


def test_json_by_path_with_the_key() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert str(request.url) == "http://gpu7:30000/v1/models"
        assert request.headers["authorization"] == "Bearer the-key"
        return reply(200, '{"data": []}')

    with control(answer) as plain:
        assert plain.get_json("/v1/models") == {"data": []}


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (always(404, '{"detail":"Not Found"}'), 'HTTP 404: {"detail":"Not Found"}'),
        (always(500), "HTTP 500: (empty body)"),
        (always(200, '{"server_args": {"a": 1, "cut'), "HTTP 200, but no whole JSON (Unterminated string"),
        (always(200, b"\xff\xfe"), "HTTP 200, but no whole JSON"),
        (always(302, "elsewhere"), "HTTP 302: elsewhere"),
        (always(200, "[" * 100_000), "HTTP 200, but no whole JSON (nested too deeply)"),
    ],
)
def test_anything_but_json_names_url_status_and_first_bytes(answer: Answer, found: str) -> None:
    with control(answer) as plain, pytest.raises(BenchFault) as caught:
        plain.get_json("/x")
    assert caught.value.tried == "GET http://gpu7:30000/x"
    assert caught.value.found.startswith(found)
    assert len(caught.value.found) < 400
    assert "the-key" not in str(caught.value)


def test_nobody_there_is_a_lost_server() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    with control(answer) as plain:
        with pytest.raises(ServerLost, match="ConnectError: refused"):
            plain.server_info()
        assert plain.health() is False


def test_server_info_under_its_old_name() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/get_server_info":
            return reply(200, '{"version": "0.5.3"}')
        return reply(404)

    with control(answer) as plain:
        assert plain.server_info() == {"version": "0.5.3"}
    with control(always(200, "[]")) as plain, pytest.raises(BenchFault, match="not an object"):
        plain.server_info()


@pytest.mark.parametrize(
    ("info", "why"),
    [('{"a":' * 200 + "1" + "}" * 200, "nested more than"), (r'{"version": "\ud800"}', "half a character")],
)
def test_server_info_that_no_record_can_hold(info: str, why: str) -> None:
    with control(always(200, info)) as plain, pytest.raises(BenchFault, match=why):
        plain.server_info()


def test_metrics_where_they_are_mounted() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/metrics":
            return reply(307, headers={"location": "/metrics/"})
        return reply(200, "# HELP x\n")

    with control(answer) as plain:
        assert plain.metrics_text() == "# HELP x\n"
    with control(always(404)) as plain, pytest.raises(BenchFault, match="HTTP 404"):
        plain.metrics_text()


def test_flush_waits_while_the_server_is_busy() -> None:
    answers = iter([400, 400, 400, 200])
    pauses: list[float] = []

    def answer(request: httpx.Request) -> httpx.Response:
        assert (request.method, request.url.path) == ("POST", "/flush_cache")
        return reply(next(answers), "Flush cache failed.\n")

    with control(answer, pauses=pauses) as plain:
        plain.flush_cache()
    assert pauses == [0.05, 0.1, 0.2]


def test_flush_gives_up_and_says_so() -> None:
    with control(always(400, "Flush cache failed.\n")) as plain:
        with pytest.raises(BenchFault) as caught:
            plain.flush_cache(limit_s=0.0)
        assert caught.value.found == "still refused after 0 s: Flush cache failed."
        assert "requests are still running" in caught.value.do
    with control(always(401, "no")) as plain, pytest.raises(BenchFault, match="HTTP 401: no"):
        plain.flush_cache()


def test_one_real_generation() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        assert body["sampling_params"]["max_new_tokens"] == 2
        assert body["input_ids"] == [5]
        assert body["stream"] is False
        assert "rid" not in body
        meta = {"completion_tokens": 2, "finish_reason": {"type": "length", "length": 2}}
        return reply(200, json.dumps({"text": "ab", "output_ids": [1, 2], "meta_info": meta}))

    with control(answer) as plain:
        answered = plain.generate_once(PromptValue(ids=(5,)), tokens=2)
    assert (answered.output_ids, answered.text) == ((1, 2), "ab")
    assert answered.counters.completion_tokens == 2


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('{"text": "", "meta_info": {"completion_tokens": 0}}', "no token was generated"),
        ('{"text": "hi"}', "no token was generated"),
        ("[]", "no token was generated"),
        ("ok", "HTTP 200, but no whole JSON"),
    ],
)
def test_an_answer_without_tokens_proves_nothing(body: str, found: str) -> None:
    with control(always(200, body)) as plain, pytest.raises(BenchFault, match=found):
        plain.generate_once()


def test_a_dripping_answer_ends_at_the_limit() -> None:
    """Httpx's own read timeout begins anew with every byte."""

    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not connection.over.wait(0.02):
            connection.send(b" ")

    with (
        serving(script) as target,
        Control(f"http://127.0.0.1:{target.port}", timeouts=Timeouts(call=0.3)) as plain,
        pytest.raises(ServerLost, match=r"still dripping after 0\.3 s"),
    ):
        plain.get_json("/x")


@pytest.mark.parametrize(
    ("head", "drop"),
    [
        (b"", b"H"),
        (b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
        (b"HTTP/1.1 200 OK\r\n", b"X-Y: z\r\n"),
        (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
        (b"HTTP/1.1 200 OK\r\n\r\n", b" "),  # no length: its end is that of the connection
    ],
)
def test_dripping_headers_end_at_the_limit(head: bytes, drop: bytes) -> None:
    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(head)
        while not connection.over.wait(0.02):
            connection.send(drop)

    with (
        serving(script) as target,
        Control(f"http://127.0.0.1:{target.port}", timeouts=Timeouts(call=0.3)) as plain,
        pytest.raises(ServerLost, match=r"still dripping after 0\.3 s"),
    ):
        plain.get_json("/x")


def test_a_silent_server_ends_at_the_limit() -> None:
    def script(connection: Connection) -> None:
        connection.read_request()
        connection.hold()

    with (
        serving(script) as target,
        Control(f"http://127.0.0.1:{target.port}") as plain,
        pytest.raises(ServerLost, match=r"no answer within 0\.3 s \(ReadTimeout"),
    ):
        plain.generate_once(timeout_s=0.3)


def test_a_flood_ends_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tokgate.client.control.ANSWER_LIMIT", 1000)
    with control(always(200, "x" * 5000)) as plain, pytest.raises(BenchFault, match="more than 1000 bytes"):
        plain.metrics_text()


def test_a_proxy_of_the_callers_shell_does_not_come_between(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")

    def script(connection: Connection) -> None:
        connection.read_request()
        connection.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

    with serving(script) as target, Control(f"http://127.0.0.1:{target.port}") as plain:
        assert plain.get_json("/x") == {}


def test_a_profile_is_asked_for_under_the_names_of_every_version() -> None:
    asked: list[tuple[str, dict[str, object]]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append((request.url.path, json.loads(request.content or b"{}")))
        return reply(200, "Start profiling.\n")

    with control(answer) as plain:
        plain.start_profile("/tmp/there", steps=8, limit_s=5)
        plain.stop_profile(limit_s=5)
    assert asked == [
        (
            "/start_profile",
            {
                "output_dir": "/tmp/there",
                "num_steps": 8,
                "activities": ["CPU", "GPU"],
                "with_stack": False,
                "record_shapes": False,
            },
        ),
        ("/stop_profile", {}),
    ]


def test_a_server_without_a_profiler_is_told() -> None:
    with control(always(404, "Not Found")) as plain, pytest.raises(BenchFault) as caught:
        plain.start_profile("/tmp/there", steps=8, limit_s=5)
    assert caught.value.found == "HTTP 404: Not Found"
