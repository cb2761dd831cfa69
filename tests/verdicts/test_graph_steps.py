from __future__ import annotations

import pytest

from tests.verdicts.evidence import controls, eagle3
from tokgate.records import LaunchEvidence
from tokgate.records.server import GraphSteps
from tokgate.verdicts.graph_steps import beside_the_control, without_a_graph


def seen(launch: LaunchEvidence, on: int, off: int, word: str | None = "cuda graph") -> LaunchEvidence:
    return launch.model_copy(update={"graph": GraphSteps(on=on, off=off, word=word)})


def test_an_arm_outside_graphs_beside_a_control_inside() -> None:
    twins = [seen(c, 20, 0) for c in controls()]
    arm = seen(eagle3(), 0, 22)
    assert beside_the_control(arm, twins) == (
        "decode steps in a CUDA graph: 0 % here, 100 % in the control (22 and 40 decode lines)",
    )
    assert without_a_graph(arm, twins) == (
        "It decodes outside CUDA graphs, its control inside: find out why, "
        "grep 'Decode batch' launches/02-eagle3-2step/server.log"
    )


@pytest.mark.parametrize(("here", "there"), [((22, 0), (20, 0)), ((0, 22), (0, 20)), ((22, 0), (0, 20))])
def test_where_both_do_alike_graphs_are_not_blamed(here: tuple[int, int], there: tuple[int, int]) -> None:
    twins = [seen(c, *there) for c in controls()]
    assert without_a_graph(seen(eagle3(), *here), twins) is None


def test_nothing_is_said_where_one_side_does_not_say() -> None:
    unknown = eagle3().model_copy(update={"graph": GraphSteps(on=0, off=0, unknown=9)})
    twins = [seen(c, 20, 0) for c in controls()]
    for arm, control in ((eagle3(), twins), (unknown, twins), (seen(eagle3(), 0, 22), list(controls()))):
        assert beside_the_control(arm, control) == ()
        assert without_a_graph(arm, control) is None
