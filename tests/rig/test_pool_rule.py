from __future__ import annotations

import pytest

from tests.session.rigs import small_rig
from tokgate.rig.machine import HostSpec
from tokgate.rig.rules.host import broken_host

A, B = "ssh://me@a", "ssh://me@b"


def problems(**host: object) -> dict[str, str]:
    rig = small_rig().model_copy(update={"host": HostSpec.model_validate(host)})
    return {".".join(map(str, one.path)): f"{one.found}: {one.wanted}" for one in broken_host(rig)}


def test_a_pool_of_hosts_is_fine() -> None:
    assert problems(pool=(A, B), overrides={A: {"name": "x"}}, each_arm_on=2) == {}


@pytest.mark.parametrize(
    ("host", "key", "word"),
    [
        pytest.param({"pool": (A, "gpu7")}, "host.pool.1", "ssh://gpu7 perhaps", id="no address"),
        pytest.param({"pool": (A, "ssh://me:pw@b")}, "host.pool.1", "password", id="a password"),
        pytest.param({"pool": (A, A)}, "host.pool.1", "a second time", id="twice"),
        pytest.param(
            {"pool": (A,), "overrides": {B: {}}}, f"host.overrides.{B}", "as it is written", id="not in it"
        ),
        pytest.param({"overrides": {B: {}}}, f"host.overrides.{B}", "there is no host.pool", id="no pool"),
        pytest.param(
            {"pool": (A, B), "overrides": {A: {"name": "x"}, B: {"name": "x"}}},
            f"host.overrides.{B}.name",
            "as another host",
            id="one name for two",
        ),
        pytest.param(
            {"pool": (A, B), "each_arm_on": 3}, "host.each_arm_on", "at most 2", id="more than there are"
        ),
        pytest.param(
            {"pool": (A,), "nodes": ({"testinfra": B},)},
            "host.nodes",
            "a server each",
            id="nodes of one server",
        ),
        pytest.param({"each_arm_on": 2}, "host.each_arm_on", "at most 1", id="no pool to share"),
    ],
)
def test_a_pool_that_cannot_be_meant_is_refused(host: dict[str, object], key: str, word: str) -> None:
    found = problems(**host)
    assert word in found[key], found


def test_the_password_is_not_repeated() -> None:
    assert "pw" not in str(problems(pool=(A, "ssh://me:pw@b")))
