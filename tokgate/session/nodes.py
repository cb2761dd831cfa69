"""The hosts of a session: one, or every node of a server over several, leased all or none."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tokgate.hosts.clean_slate import look
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.fingerprint import fingerprint
from tokgate.hosts.lease import Lease, lease
from tokgate.hosts.undertaker import Undertaker
from tokgate.records import CleanSlate, Finding, Fingerprint
from tokgate.records.record import Unread
from tokgate.records.redactor import Redactor
from tokgate.rig.models import Rig
from tokgate.rig.nodes import NodeRig, nodes_of

from .progress import Progress
from .slates import Slates

# Facts that all nodes of one server must share for its numbers to mean anything, and what each is called.
_ALIKE = {
    "sglang.version": "SGLang",
    "sglang.commit": "SGLang's commit",
    "sglang.changed": "changed files of SGLang",
    "package.torch": "PyTorch",
    "package.nccl": "NCCL",
    "package.sgl_kernel": "sgl-kernel",
    "gpu.driver": "driver",
    "gpu.0.driver_version": "driver version",
    "gpu.0.name": "GPU model",
    "host.kernel": "kernel",
    "model.config_sha256": "model configuration",
    "model.weights": "weights",
}


class Node(NamedTuple):
    """One host of a session, and the rig as it is on that host."""

    part: NodeRig
    host: Host

    @property
    def name(self) -> str:
        return f"{self.part.words} ({self.host.name})"


def connected(rig: Rig, redactor: Redactor) -> tuple[Node, ...]:
    """Return every node in order of rank; nothing is sent yet."""
    return tuple(Node(part, connect(part.rig.host, redactor=redactor)) for part in nodes_of(rig))


@dataclass
class JointLease(Lease):
    """The leases of all nodes as one: lost as soon as one of them is."""

    parts: tuple[Lease, ...] = field(default=())

    @property
    def lost(self) -> str | None:
        return next((part.lost for part in self.parts if part.lost is not None), None)

    def check(self) -> None:
        for part in self.parts:
            part.check()


@contextlib.contextmanager
def leased(nodes: Sequence[Node], owner: str) -> Iterator[Lease]:
    """Hold every node while the block runs, or none.

    Taken in the order of their addresses, whichever of them is node 0; and nobody waits for one while holding another,
    so that two sessions on the same hosts cannot wait for each other. LeaseFault: somebody holds one of them.
    """
    if len(nodes) == 1:
        with lease(nodes[0].host, owner=owner) as alone:
            yield alone
        return
    with contextlib.ExitStack() as held:
        parts: list[Lease] = []
        for node in sorted(nodes, key=lambda node: (node.host.name, node.host.spec.work_dir)):
            after = held.enter_context(contextlib.ExitStack())  # when the lease has been given back
            parts.append(held.enter_context(lease(node.host, owner=owner)))
            if not node.host.local:
                # One lease of several that a killed gate leaves behind would keep the others' hosts from a next server.
                after.callback(Undertaker(node.host, parts[-1]).close)
        stale = [part for part in parts if part.took_over is not None]
        yield JointLease(
            owner=owner,
            took_over="; ".join(str(part.took_over) for part in stale) or None,
            owner_before=", ".join(sorted({str(part.owner_before) for part in stale})) or None,
            parts=tuple(parts),
        )


def fingerprints(nodes: Sequence[Node]) -> Fingerprint:
    """Return node 0's facts, and behind them what the further nodes have otherwise, as "node1.KEY".

    A note for each difference that makes two halves of one server unlike.
    """
    found = fingerprint(nodes[0].host, nodes[0].part.rig)
    for node in nodes[1:]:
        other, mark = fingerprint(node.host, node.part.rig), f"node{node.part.rank}"
        own = {key: value for key, value in other.facts.items() if found.facts.get(key) != value}
        found = Fingerprint(
            facts={
                **found.facts,
                f"{mark}.host": node.host.name,
                **{f"{mark}.{k}": v for k, v in own.items()},
            },
            notes=(
                *found.notes,
                *(n.model_copy(update={"what": f"{node.name}: {n.what}"}) for n in other.notes),
                *_unlike(node, found, other),
            ),
            unread=(*found.unread, *(Unread(text=f"{node.name}: {u.text}", why=u.why) for u in other.unread)),
        )
    return found


def _unlike(node: Node, first: Fingerprint, other: Fingerprint) -> Iterator[Finding]:
    for key, words in _ALIKE.items():
        here, there = first.facts.get(key), other.facts.get(key)
        if here != there:
            yield Finding(
                severity="note",
                what=f"{node.name} has another {words} than node 0: {there or 'not known'}, and {here or 'not known'} there",
                do="make the nodes alike, or read every number as one of this mixture",
            )


def look_everywhere(nodes: Sequence[Node], look: Callable[..., CleanSlate]) -> Callable[..., CleanSlate]:
    """Return what looks at every node as `look` does at one, and tells of all together.

    GPUs are counted through: those of node 1 follow those of node 0, as in the telemetry.
    """

    def everywhere(_host: Host, _rig: Rig, **how: object) -> CleanSlate:
        slates = [look(node.host, node.part.rig, **how) for node in nodes]
        return _joined(nodes, slates)

    return everywhere


def slates_of(nodes: Sequence[Node], rig: Rig, progress: Progress) -> Slates:
    """Return the looks of a session at its host, or at all of them."""
    if len(nodes) == 1:
        return Slates(nodes[0].host, rig, progress)
    return Slates(nodes[0].host, rig, progress, look=look_everywhere(nodes, look))


def gpu_offset(node: Node) -> int:
    """Return the number that GPU 0 of a node has among those of all nodes."""
    return node.part.rank * node.part.rig.gpus.count


def _joined(nodes: Sequence[Node], slates: Sequence[CleanSlate]) -> CleanSlate:
    first = slates[0]
    notes = dict.fromkeys(f for f in first.findings if f.severity == "note")
    gpus, holders, leftovers, findings = [], [], [], []
    for node, slate in zip(nodes, slates, strict=True):
        offset = gpu_offset(node)
        gpus += [gpu.model_copy(update={"index": gpu.index + offset}) for gpu in slate.gpus]
        holders += [
            one if one.gpu_index is None else one.model_copy(update={"gpu_index": one.gpu_index + offset})
            for one in slate.holders
        ]
        leftovers += [p.model_copy(update={"node": node.part.rank}) for p in slate.leftovers]
        findings += [
            f.model_copy(update={"what": f"{node.name}: {f.what}"}) for f in slate.findings if f not in notes
        ]
    return first.model_copy(
        update={
            "host": ", ".join(slate.host for slate in slates),
            "gpus": tuple(gpus),
            "holders": tuple(holders),
            "leftovers": tuple(leftovers),
            "findings": (*findings, *notes),
            "waited_s": sum(slate.waited_s for slate in slates),
            "look_s": sum(slate.look_s or 0.0 for slate in slates),
        }
    )
