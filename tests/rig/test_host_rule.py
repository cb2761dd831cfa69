"""The host's address, as a rig writes it."""

from __future__ import annotations

import pytest

from .conftest import Checkout

GOOD = [
    "local://",
    "ssh://dgx01",
    "ssh://bench@dgx01",
    "ssh://bench@dgx01.lab.example:2222",
    "ssh://root@10.0.0.7",
    "ssh://root@[fe80::1]:22",
    "ssh://dgx_01?timeout=1",
]
WRONG = [
    ("bench@dgx01", "; ssh://bench@dgx01 perhaps"),
    ("dgx01", "; ssh://dgx01 perhaps"),
    ("", "may be left out"),
    ("ssh://", "may be left out"),
    ("ssh://bench@", "may be left out"),
    ("ssh://-oProxyCommand=x", "may be left out"),
    ("ssh://dgx01:0", "may be left out"),
    ("ssh://dgx01:99999", "may be left out"),
    ("ssh://dgx01:twenty", "may be left out"),
    ("ssh://two hosts", "may be left out"),
    ("local://dgx01", "may be left out"),
    ("docker://box", "may be left out"),
    ("http://dgx01", "may be left out"),
]


def _at(address: str) -> tuple[str, str]:
    return ("[gpus]", f'[host]\ntestinfra = "{address}"\n\n[gpus]')


@pytest.mark.parametrize("address", GOOD)
def test_an_address_that_the_gate_can_go_to(checkout: Checkout, address: str) -> None:
    checkout.write(_at(address))
    assert checkout.load().host.testinfra == address


@pytest.mark.parametrize(("address", "ending"), WRONG)
def test_any_other_is_refused_with_the_form(checkout: Checkout, address: str, ending: str) -> None:
    checkout.write(_at(address))
    found = checkout.refusal().found
    assert found.startswith(
        f'host.testinfra: found "{address}"; wanted local:// for this machine, or ssh://user@host'
    )
    assert found.endswith(ending)


@pytest.mark.parametrize(
    "address", ["ssh://bench:hunter2@dgx01", "bench:hunter2@dgx01", "ssh://a:hunter2@b@dgx01"]
)
def test_a_password_is_refused_and_not_repeated(checkout: Checkout, address: str) -> None:
    checkout.write(_at(address))
    error = checkout.refusal()
    assert "an address with a password in it; wanted a key instead" in error.found
    assert "hunter2" not in str(error)
