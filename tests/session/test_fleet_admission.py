"""Which hosts make one fleet: those that are alike; and what is said of one that cannot be looked at."""

from __future__ import annotations

from pathlib import Path

from tests.session.rigs import small_rig
from tokgate.records.fleet import HostSeen, HostState
from tokgate.rig.machine import HostSpec
from tokgate.rig.pool import pool_of
from tokgate.session.fleet_admission import admit, alike


def seen(name: str, **facts: str) -> HostSeen:
    told = {"sglang.version": "0.5.16", "gpu.0.driver_version": "580.1", "host.kernel": "6.1", **facts}
    return HostSeen(name=name, address=f"ssh://{name}", state=HostState.ADMITTED, facts=dict(told))


def states(hosts: tuple[HostSeen, ...]) -> list[str]:
    return [host.state.value for host in hosts]


def test_the_one_with_another_driver_is_left_out_and_says_which() -> None:
    hosts = alike([seen("a", **{"gpu.0.driver_version": "590.2"}), seen("b"), seen("c")])
    assert states(hosts) == ["left out", "admitted", "admitted"]
    assert hosts[0].why == "it is not as the others are: gpu.0.driver_version is 590.2, not 580.1 as on b"
    assert hosts[0].do
    assert [d.key for d in hosts[0].differs] == ["gpu.0.driver_version"]


def test_of_two_the_first_of_the_pool_is_right() -> None:
    hosts = alike([seen("a"), seen("b", **{"sglang.version": "0.5.17"})])
    assert states(hosts) == ["admitted", "left out"]


def test_another_kernel_is_told_and_keeps_nobody_out() -> None:
    hosts = alike([seen("a"), seen("b", **{"host.kernel": "6.8"})])
    assert states(hosts) == ["admitted", "admitted"]
    assert hosts[1].notes == ("host.kernel is 6.8, that of a is 6.1",)


def test_who_is_out_already_is_no_measure_for_others() -> None:
    out = seen("a", **{"sglang.version": "0.5.17"}).model_copy(
        update={"state": HostState.LEFT_OUT, "why": "x"}
    )
    assert states(alike([out, seen("b")])) == ["left out", "admitted"]


def test_two_addresses_of_one_machine_are_one_host() -> None:
    hosts = alike(
        [
            seen("a", machine="boot pid:[1]"),
            seen("b", machine="boot pid:[1]"),
            seen("c", machine="boot pid:[2]"),
        ]
    )
    assert states(hosts) == ["admitted", "left out", "admitted"]
    assert hosts[1].why == "it is the same machine as a"


def test_two_containers_of_one_machine_are_told() -> None:
    shared = {"host.boot_id": "34e28294"}
    hosts = alike(
        [seen("a", machine="34e28294 pid:[1]", **shared), seen("b", machine="34e28294 pid:[2]", **shared)]
    )
    assert states(hosts) == ["admitted", "admitted"]
    assert "shares its kernel with a" in hosts[1].notes[0]


def test_a_host_that_cannot_be_reached_is_left_out_with_the_reason(tmp_path: Path) -> None:
    config = tmp_path / "ssh_config"
    config.write_text("Host *\n  ProxyCommand false\n")
    host = HostSpec(pool=("ssh://me@nowhere",), ssh_config=str(config), work_dir=str(tmp_path / "work"))
    rig = small_rig().model_copy(update={"host": host})
    (found,) = admit(rig, pool_of(rig), root=tmp_path, reports=tmp_path)
    assert found.state is HostState.LEFT_OUT
    assert found.why
    assert found.do
