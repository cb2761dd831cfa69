"""Who listens where, and what the host's environment holds."""

from __future__ import annotations

import os
import socket

import pytest

from tokgate.server import host_probe, supervisor


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::1")])
def test_a_listener_is_named_on_any_address(family: socket.AddressFamily, address: str) -> None:
    with socket.socket(family) as listener:
        listener.bind((address, 0))
        port = listener.getsockname()[1]
        assert host_probe.listeners(port) == []  # bound is not listening yet
        listener.listen()
        me = supervisor.read_row(os.getpid())
        assert me is not None
        (found,) = host_probe.main({"port": port})["listeners"]
        assert (found["pid"], found["start_ticks"], found["sid"]) == (me.pid, me.start_ticks, me.sid)
        assert found["mark"] is None


def test_a_connection_to_a_port_is_no_listener() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with socket.create_connection(server.getsockname()) as client:
            assert host_probe.listeners(client.getsockname()[1]) == []


def test_only_what_is_asked_for_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANTED", "1")
    monkeypatch.setenv("UNWANTED", "1")
    answer = host_probe.main({"names": ["WANTED", "MISSING"], "port": None})
    assert answer["environment"] == {"WANTED": "1"}
    assert answer["listeners"] == []
    with socket.socket() as server:
        server.bind(("127.0.0.1", answer["port"]))


def test_a_given_port_is_kept() -> None:
    assert host_probe.main({"names": [], "port": 31234})["port"] == 31234
