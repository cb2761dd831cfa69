"""What `tokgate doctor` asks of several hosts: of each its own, of all together what belongs to no one of them."""

from __future__ import annotations

from tests.rig.test_nodes import loaded
from tests.session.rigs import small_rig
from tokgate.cli.doctor_hosts import hosts_of
from tokgate.rig.machine import HostSpec
from tokgate.rig.models import Rig
from tokgate.rig.sizes import gpus_needed, machines
from tokgate.session.doctor.checks import CHECKS


def names(rig: Rig) -> list[tuple[str, set[str]]]:
    return [(host.name, {check.name for check in host.checks}) for host in hosts_of(rig)]


def test_one_host_is_asked_everything() -> None:
    (only,) = hosts_of(small_rig())
    assert (only.words, tuple(only.checks)) == ("", CHECKS)


def test_every_check_is_made_of_a_server_over_nodes_and_that_on_the_whole_once() -> None:
    rig = loaded("server.args.tp_size=16")
    (whole, of_all), *nodes = names(rig)
    assert whole == "the server as a whole"
    assert {"rig.limits", "baselines.compared", "client.load"} <= of_all
    assert [name for name, _ in nodes] == ["node 0", "node 1"]
    for _, asked in nodes:
        assert not asked & of_all
        assert asked | of_all == {check.name for check in CHECKS}


def test_a_node_needs_its_share_of_the_gpus_and_has_the_weights_of_all() -> None:
    rig = loaded("server.args.tp_size=16")
    first, second = (host.rig for host in hosts_of(rig)[1:])
    assert (first.gpus.count, gpus_needed(first, first.control), machines(first, first.control)) == (8, 8, 2)
    assert second.server.args["node_rank"] == 1
    assert hosts_of(rig)[0].rig.gpus.count == 16, "by which baselines are kept"


def test_every_host_of_a_pool_is_asked_and_this_machine_once() -> None:
    host = HostSpec(pool=("ssh://me@gpu7", "ssh://me@gpu8"))
    (first, all_of_it), (second, rest) = names(small_rig().model_copy(update={"host": host}))
    assert (first, second) == ("gpu7", "gpu8")
    assert {name.partition(".")[0] for name in all_of_it - rest} == {"client"}
