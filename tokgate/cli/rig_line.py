"""The shell lines of one arm as a person reads them: the rig's own, the one launched, and what differs, on every node."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.cli.rig_check import filled
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.nodes import ADDRESS, NodeRig, has_nodes, nodes_of
from tokgate.server.command_line import MASK, LaunchLine, launch_line, rig_line
from tokgate.session.preamble import describe_line_with_instruments


def lines_of(rig: Rig, arm: ArmSpec) -> str:
    parts: list[str] = []
    for node in nodes_of(rig):
        where = f", on {node.words} ({node.rig.host.testinfra})" if has_nodes(rig) else ""
        shown = _as_launched(node)
        parts += [
            f"(i) the rig's own line{where}",
            rig_line(shown, arm),
            f"(ii) as launched, by sh -c{where}",
            _launched(shown, arm).line.shown,
        ]
    changes = ["What the gate changes, and why:"]
    for addition in _launched(_as_launched(nodes_of(rig)[0]), arm).line.additions:
        changes += [filled(addition.what, indent=2), filled(addition.reason, indent=6)]
    parts.append("\n".join(changes))
    passed = ", ".join(rig.server.pass_environment) or "nothing"
    parts += [filled(words) for words in describe_line_with_instruments(rig, arm.name)]
    closed = f"The environment is closed: besides the variables above the server gets, from the host, only {passed}."
    parts.append(filled(closed))
    parts += [filled(words) for words in describe_meeting(rig)]
    return "\n\n".join(parts)


def describe_meeting(rig: Rig) -> Iterator[str]:
    """Yield how the nodes of a server find each other; nothing where it has one."""
    if not has_nodes(rig):
        return
    if (written := rig.server.dist_init_addr) is not None:
        port = "" if ":" in written.rpartition("]")[2] else ", with a port that is free there at each start"
        yield f"The nodes meet at {written}{port}: server.dist_init_addr."
    else:
        yield (
            f"{ADDRESS}: an address of node 0 that every other node reaches, and a port that is free there, are looked "
            "for at each start; server.dist_init_addr would set them."
        )


def _as_launched(node: NodeRig) -> Rig:
    return node.launched(node.rig.server.dist_init_addr or ADDRESS) if has_nodes(node.rig) else node.rig


def _launched(rig: Rig, arm: ArmSpec) -> LaunchLine:
    return launch_line(
        rig,
        arm,
        port="PORT",
        api_key=MASK if rig.server.api_key == "random" else None,
        mark="MARK",
        log="LOG",
        pass_environment={},
    )
