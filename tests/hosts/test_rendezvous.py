"""Where nodes meet: an address of node 0 that all others reach, and a port that is free there."""

from __future__ import annotations

import socket
from typing import Any, cast

import pytest

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.rendezvous import meeting_point
from tokgate.hosts.scripts.rendezvous import addresses, free_block, why_not
from tokgate.rig.machine import HostSpec


class Told:
    """A host that answers as it was told to."""

    def __init__(self, name: str, addresses: list[str], reaches: dict[str, str | None] | None = None) -> None:
        self.name = name
        self.spec = HostSpec()
        self._addresses, self._reaches = addresses, reaches or {}

    def run_python(self, _source: str, argument: dict[str, Any], **_more: object) -> Any:
        if argument["operation"] == "addresses":
            return self._addresses
        if argument["operation"] == "free":
            return {"port": argument["port"] or 20100}
        return {address: self._reaches.get(address, "no route to host") for address in argument["addresses"]}


def meet(first: Told, *others: Told, written: str | None = None) -> str:
    return meeting_point(cast("Host", first), [cast("Host", one) for one in others], written)


BRIDGE = "172.17.0.1"


def test_the_first_address_that_every_node_reaches_is_taken() -> None:
    first = Told("gpu7", ["10.0.0.7", "192.168.5.7"])
    others = [
        Told("gpu8", ["192.168.5.8"], {"192.168.5.7": None}),
        Told("gpu9", ["192.168.5.9", "10.0.0.9"], {"10.0.0.7": None, "192.168.5.7": None}),
    ]
    assert meet(first, *others) == "192.168.5.7:20100"


def test_a_bridge_that_every_machine_has_is_nobodys_address() -> None:
    first = Told("gpu7", [BRIDGE, "10.0.0.7"])
    assert (
        meet(first, Told("gpu8", [BRIDGE, "10.0.0.8"], {BRIDGE: None, "10.0.0.7": None})) == "10.0.0.7:20100"
    )


def test_where_none_is_reached_each_attempt_is_told() -> None:
    with pytest.raises(HostFault) as lost:
        meet(Told("gpu7", [BRIDGE, "10.0.0.7"]), Told("gpu8", [BRIDGE], {}))
    assert "10.0.0.7 from gpu8: no route to host" in lost.value.found
    assert f"{BRIDGE} is an address of another node too" in lost.value.found
    assert "server.dist_init_addr" in lost.value.do


@pytest.mark.parametrize(
    ("written", "point"),
    [
        ("10.1.1.1:21000", "10.1.1.1:21000"),
        ("node0.cluster", "node0.cluster:20100"),
        ("[fd00::1]:21000", "[fd00::1]:21000"),
        ("[fd00::1]", "[fd00::1]:20100"),
    ],
)
def test_what_the_rig_says_is_taken_as_it_is(written: str, point: str) -> None:
    assert meet(Told("gpu7", []), Told("gpu8", []), written=written) == point


def test_a_port_that_is_taken_is_refused_by_name() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(HostFault, match=f"port {port} is taken"):
            meeting_point(connect(HostSpec()), [], f"127.0.0.1:{port}")


def test_this_machine_tells_its_addresses_and_a_block_of_free_ports() -> None:
    assert not [address for address in addresses() if address.startswith("127.")]
    first = free_block(None, 16)
    assert first is not None
    assert 20000 <= first < 32768


def test_a_port_that_nobody_listens_on_is_an_answer() -> None:
    free = free_block(None, 1)
    assert free is not None
    assert why_not("127.0.0.1", free, 1.0) is None
    assert why_not("no-such-host.invalid", free, 1.0) is not None
