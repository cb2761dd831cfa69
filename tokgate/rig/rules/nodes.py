"""A server over several hosts names each of them once, and leaves to the gate what ties them together."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.rig.models import Rig
from tokgate.rig.nodes import ARGUMENTS, has_nodes
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import KeyPath, spell

from .host import host_problem


def broken_nodes(rig: Rig) -> Iterator[Problem]:
    further = rig.host.nodes
    if rig.server.nodes != len(further) + 1:
        where: KeyPath = ("server", "nodes") if has_nodes(rig) else ("host", "nodes")
        yield Problem(
            where,
            f"server.nodes = {rig.server.nodes} and {len(further)} further hosts in [[host.nodes]]",
            "one [[host.nodes]] for each node but node 0, which is the host itself",
        )
        return
    if not has_nodes(rig):
        if rig.server.dist_init_addr is not None:
            yield Problem(
                ("server", "dist_init_addr"),
                spell(rig.server.dist_init_addr),
                "nothing: a server on one host has no node that must find another (server.nodes)",
            )
        return
    yield from _hosts(rig)
    yield from _left_to_the_gate(rig)
    if rig.gpus.count % rig.server.nodes:
        yield Problem(
            ("gpus", "count"),
            str(rig.gpus.count),
            f"the GPUs of all nodes together, the same number on each of the {rig.server.nodes}",
        )
    port = (rig.server.dist_init_addr or "").rpartition(":")[2]
    if port.isdecimal() and not 0 < int(port) < 65536:
        yield Problem(("server", "dist_init_addr"), spell(rig.server.dist_init_addr), "a port below 65536")


def _hosts(rig: Rig) -> Iterator[Problem]:
    if rig.host.pool:
        yield Problem(
            ("host", "pool"),
            f"a pool of {len(rig.host.pool)} hosts beside server.nodes = {rig.server.nodes}",
            "one of the two: a pool shares the arms out, each on one host, and nodes join hosts for every arm",
        )
    seen = [rig.host.testinfra]
    for number, node in enumerate(rig.host.nodes):
        path: KeyPath = ("host", "nodes", number, "testinfra")
        problem = host_problem(node.testinfra, path)
        if problem is not None:
            yield problem
        elif node.testinfra in seen:
            yield Problem(path, f"{spell(node.testinfra)} a second time", "each node on a host of its own")
        seen.append(node.testinfra)


def _left_to_the_gate(rig: Rig) -> Iterator[Problem]:
    places: list[tuple[KeyPath, object]] = [
        (("server", "args", name), rig.server.args[name]) for name in ARGUMENTS if name in rig.server.args
    ]
    for number, arm in enumerate(rig.arms):
        places += [(("arms", number, "args", name), arm.args[name]) for name in ARGUMENTS if name in arm.args]
    for path, value in places:
        yield Problem(
            path,
            spell(value),
            "nothing: with server.nodes the gate writes it on every node's line; server.dist_init_addr sets the address",
        )
