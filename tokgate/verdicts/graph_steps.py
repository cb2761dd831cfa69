"""Whether an arm decodes in graphs, beside its control: what the servers' own decode lines say."""

from __future__ import annotations

from collections.abc import Sequence

from tokgate.records import LaunchEvidence
from tokgate.records.server import GraphSteps

# Below this an arm is said to decode outside graphs, from here on up a control inside: single steps without one are
# normal where a batch is larger than any that was captured.
_MOSTLY = 0.5


def beside_the_control(arm: LaunchEvidence, controls: Sequence[LaunchEvidence]) -> tuple[str, ...]:
    """Return a line of evidence; nothing where the log of either does not say."""
    here, there = _known(arm), _together(controls)
    if here is None or there is None:
        return ()
    return (
        f"decode steps in a {_word(here)}: {here.share:.0%} here, {there.share:.0%} in the control "
        f"({here.on + here.off} and {there.on + there.off} decode lines)".replace("%", " %"),
    )


def without_a_graph(arm: LaunchEvidence, controls: Sequence[LaunchEvidence]) -> str | None:
    """Return what to look at where the arm decodes outside graphs and its control inside; None otherwise."""
    here, there = _known(arm), _together(controls)
    if here is None or there is None or (here.share or 0.0) >= _MOSTLY or (there.share or 0.0) < _MOSTLY:
        return None
    return (
        f"It decodes outside {_word(here)}s, its control inside: find out why, "
        f"grep 'Decode batch' launches/{arm.launch.id}/server.log"
    )


def _known(launch: LaunchEvidence) -> GraphSteps | None:
    return launch.graph if launch.graph is not None and launch.graph.share is not None else None


def _together(launches: Sequence[LaunchEvidence]) -> GraphSteps | None:
    known = [graph for launch in launches if (graph := _known(launch)) is not None]
    return GraphSteps(on=sum(g.on for g in known), off=sum(g.off for g in known)) if known else None


def _word(graph: GraphSteps) -> str:
    return (graph.word or "graph").replace("cuda", "CUDA").replace("cpu", "CPU").replace("npu", "NPU")
