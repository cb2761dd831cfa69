from __future__ import annotations

import pytest
from pydantic import ValidationError

from tests.session.rigs import small_rig
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.rig.pool import has_pool, pool_of, rig_on


def pooled(**host: object) -> Rig:
    return small_rig().model_copy(update={"host": HostSpec.model_validate(host)})


def test_a_rig_without_a_pool_has_none() -> None:
    assert not has_pool(small_rig())
    assert pool_of(small_rig()) == ()


def test_what_looks_at_one_host_looks_at_the_first_of_the_pool() -> None:
    assert HostSpec(pool=("ssh://me@a", "ssh://me@b")).testinfra == "ssh://me@a"
    assert HostSpec(pool=("ssh://me@a",), testinfra="ssh://me@c").testinfra == "ssh://me@c"


@pytest.mark.parametrize(
    ("addresses", "names"),
    [
        pytest.param(["ssh://me@gpu7", "ssh://me@gpu8:2222"], ["gpu7", "gpu8-2222"], id="user and port"),
        pytest.param(["ssh://a@box", "ssh://b@box"], ["box", "box-2"], id="twice the same name"),
        pytest.param(["ssh://[fe80::1]:22", "local://"], ["fe80-1-22", "local"], id="IPv6, this machine"),
        pytest.param(["ssh://me@../../etc"], ["etc"], id="a name that would be a path"),
        pytest.param(["ssh://me@<b>x</b>"], ["b-x-b"], id="a name that would be HTML"),
    ],
)
def test_names_are_plain_and_unique(addresses: list[str], names: list[str]) -> None:
    assert [host.name for host in pool_of(pooled(pool=tuple(addresses)))] == names


def test_a_host_has_what_the_table_says_but_for_its_own() -> None:
    rig = pooled(
        pool=("ssh://me@a", "ssh://me@b"),
        python="python3.11",
        environment={"A": "1", "B": "2"},
        overrides={"ssh://me@b": {"name": "big", "work_dir": "/scratch", "environment": {"B": "3"}}},
    )
    a, b = (rig_on(rig, host).host for host in pool_of(rig))
    assert [host.name for host in pool_of(rig)] == ["a", "big"]
    assert (a.testinfra, a.work_dir, a.environment) == ("ssh://me@a", "/tmp/tokgate", {"A": "1", "B": "2"})
    assert (b.testinfra, b.work_dir, b.environment) == ("ssh://me@b", "/scratch", {"A": "1", "B": "3"})
    assert (b.python, b.pool, b.overrides) == ("python3.11", (), {})


@pytest.mark.parametrize("name", ["../x", "a/b", "", "<b>", "a b", "-x"])
def test_a_name_that_is_no_plain_one_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        HostSpec.model_validate({"pool": ("ssh://a",), "overrides": {"ssh://a": {"name": name}}})
