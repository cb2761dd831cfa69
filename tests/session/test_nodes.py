"""What a session does on all hosts of a server: leases, looks, differences, telemetry."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.session.rigs import small_rig
from tokgate.errors import HostFault, LeaseFault
from tokgate.hosts.lease import holder_of, lease
from tokgate.records import CleanSlate, Finding, Fingerprint, GpuHolder, GpuSeen, ProcessSeen
from tokgate.records.redactor import Redactor
from tokgate.records.telemetry import Curve, Curves, GpuWindow, HeldBack, Stranger, Window
from tokgate.rig.machine import HostSpec, NodeSpec
from tokgate.rig.models import Rig
from tokgate.session import machines
from tokgate.session import nodes as module
from tokgate.session.machines import refuse_one_machine
from tokgate.session.nodes import Node, connected, fingerprints, leased, look_everywhere
from tokgate.stats.joined_windows import join_curves, join_windows


def rig_of_two(folder: Path) -> Rig:
    rig = small_rig()
    host = HostSpec(
        work_dir=str(folder / "zero"),
        nodes=(NodeSpec(testinfra="local://", work_dir=str(folder / "one")),),
    )
    return rig.model_copy(
        update={
            "host": host,
            "server": rig.server.model_copy(update={"nodes": 2}),
            "gpus": rig.gpus.model_copy(update={"count": 4}),
        }
    )


@pytest.fixture
def nodes(tmp_path: Path) -> tuple[Node, ...]:
    return connected(rig_of_two(tmp_path), Redactor())


def test_every_node_is_leased_and_given_back(nodes: tuple[Node, ...]) -> None:
    with leased(nodes, owner="run-1") as held:
        assert [found and found.owner for found in (holder_of(node.host) for node in nodes)] == [
            "run-1",
            "run-1",
        ]
        held.check()
    assert [holder_of(node.host) for node in nodes] == [None, None]


@pytest.mark.parametrize("taken", [0, 1])
def test_where_one_is_taken_none_is_held(nodes: tuple[Node, ...], taken: int) -> None:
    with lease(nodes[taken].host, owner="another"):
        with pytest.raises(LeaseFault, match="another"), leased(nodes, owner="run-1"):
            pytest.fail("it is taken")
        assert holder_of(nodes[1 - taken].host) is None


def test_they_are_taken_in_one_order_whichever_is_node_0(
    nodes: tuple[Node, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    def order(of: tuple[Node, ...]) -> list[str]:
        asked: list[str] = []

        def refuse(host: object, owner: str) -> object:
            asked.append(host.spec.work_dir)  # type: ignore[attr-defined]
            return lease(host, owner)  # type: ignore[arg-type]

        monkeypatch.setattr(module, "lease", refuse)
        with leased(of, owner="run-1"):
            return asked

    assert order(nodes) == order((nodes[1], nodes[0]))


def test_the_lease_of_all_is_lost_with_one(nodes: tuple[Node, ...]) -> None:
    with leased(nodes, owner="run-1") as held:
        held.parts[1]._lost.append("the lease on node 1 is lost")  # type: ignore[attr-defined]
        with pytest.raises(LeaseFault, match="node 1"):
            held.check()


def test_a_look_at_all_counts_gpus_through_and_names_the_node(nodes: tuple[Node, ...]) -> None:
    process = ProcessSeen(pid=7, start_ticks=1, ppid=1, pgid=7, sid=7, state="S", comm="x", cmdline="x")

    def look(host: object, rig: Rig, **_: object) -> CleanSlate:
        unclean = host is nodes[1].host
        assert rig.gpus.count == 2
        return CleanSlate(
            when="now",
            host="h",
            gpus=tuple(GpuSeen(index=n, source="nvidia-smi") for n in range(2)),
            holders=(GpuHolder(gpu_index=1, pid=7),) if unclean else (),
            leftovers=(process,) if unclean else (),
            findings=(Finding(severity="unclean", what="GPU 1 is held", do="end it"),) if unclean else (),
            waited_s=1.0,
        )

    slate = look_everywhere(nodes, look)(nodes[0].host, small_rig(), when="now")
    assert [gpu.index for gpu in slate.gpus] == [0, 1, 2, 3]
    assert [holder.gpu_index for holder in slate.holders] == [3]
    assert [left.node for left in slate.leftovers] == [1]
    assert [finding.what for finding in slate.findings] == ["node 1 (local): GPU 1 is held"]
    assert not slate.clean


def test_what_a_node_has_otherwise_is_kept_and_what_matters_is_told(
    nodes: tuple[Node, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    facts = {"sglang.version": "0.5.23", "host.kernel": "6.1", "host.cpu": "one"}
    changed = {"sglang.version": "0.5.24", "host.cpu": "another"}

    def read(host: object, _rig: Rig) -> Fingerprint:
        return Fingerprint(facts={**facts, **(changed if host is nodes[1].host else {})})

    monkeypatch.setattr(module, "fingerprint", read)
    found = fingerprints(nodes)
    assert found.facts == {
        **facts,
        "node1.host": "local",
        "node1.sglang.version": "0.5.24",
        "node1.host.cpu": "another",
    }
    (note,) = found.notes
    assert note.what == "node 1 (local) has another SGLang than node 0: 0.5.24, and 0.5.23 there"


def window(**changes: object) -> Window:
    plain = Window(
        workload="single", batch=1, warmup=False, failed=False, start_ns=1, end_ns=2, gap_s=0.2, strangers=()
    )
    return plain.model_copy(update=changes)


def test_a_window_holds_the_gpus_of_all_nodes() -> None:
    gpu = GpuWindow(index=0, rows=3)
    stranger = Stranger(pid=5, start_ticks=1, gpus=(0,), seen_after_s=0.1)
    (joint,) = join_windows(
        [window(gpus=(gpu,), load1=1.0)],
        [window(gpus=(gpu,), load1=3.0, strangers=(stranger,))],
        node=1,
        offset=8,
    )
    assert [seen.index for seen in joint.gpus] == [0, 8]
    assert joint.load1 == 3.0
    assert [(s.gpus, s.note) for s in joint.strangers or ()] == [((8,), "on node 1")]


def test_what_is_not_known_of_one_node_is_not_known_of_the_server() -> None:
    (joint,) = join_windows(
        [window()],
        [window(unknown="2.0 s without a row", strangers=None, strangers_unknown="nobody was asked")],
        node=1,
        offset=8,
    )
    assert joint.unknown == "node 1: 2.0 s without a row"
    assert (joint.strangers, joint.strangers_unknown) == (None, "node 1: nobody was asked")


def test_curves_of_a_further_node_are_those_of_its_gpus() -> None:
    def curve(gpu: int | None) -> Curve:
        return Curve(quantity="watts", gpu=gpu, at_ns=(1,), values=(2.0,), n=1)

    held = HeldBack(gpu=0, reason="sw_power_cap", from_ns=1, to_ns=2)
    joint = join_curves(
        Curves(curves=(curve(0), curve(None))),
        Curves(curves=(curve(0), curve(None)), held_back=(held,)),
        offset=8,
    )
    assert [c.gpu for c in joint.curves] == [0, None, 8]
    assert [h.gpu for h in joint.held_back] == [8]


def test_one_machine_under_two_addresses_is_not_two_nodes(
    nodes: tuple[Node, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its eight GPUs would be counted as sixteen, and looked at twice."""
    with pytest.raises(HostFault, match="is the same machine as node 0"):
        refuse_one_machine(nodes)
    monkeypatch.setattr(machines, "machine_of", lambda host: host.spec.work_dir)
    refuse_one_machine(nodes)
    monkeypatch.undo()
    refuse_one_machine(nodes[:1])
