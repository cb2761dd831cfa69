from __future__ import annotations

from typing import Any

import pytest

from tests.verdicts.evidence import EAGLE3, eagle3, make_launch, make_rig
from tokgate.verdicts.effective import adapted, contradicted, wanted_settings

RIG = make_rig()
ARM = RIG.arm("eagle3-2step")


def test_an_arm_wants_the_servers_arguments_and_its_own() -> None:
    wanted = wanted_settings(RIG, ARM)

    assert wanted["tp_size"] == 2
    assert wanted["speculative_num_draft_tokens"] == 3
    assert not {"host", "port"} & set(wanted)


def test_the_server_that_says_what_was_wanted_is_believed() -> None:
    assert list(contradicted(RIG, ARM, eagle3())) == []
    assert list(contradicted(RIG, RIG.control, make_launch())) == []


@pytest.mark.parametrize(
    ("told", "what"),
    [
        ({"tp_size": 1}, "tp_size is 1 in the server, 2 in the rig"),
        (
            {"speculative_num_draft_tokens": 4},
            "speculative_num_draft_tokens is 4 in the server, 3 in the rig",
        ),
        ({"model_path": "/else"}, "model_path is '/else' in the server, '/models/target' in the rig"),
        (
            {"speculative_algorithm": None},
            "the server of eagle3-2step says it does no speculation (speculative_algorithm=None)",
        ),
    ],
)
def test_a_decisive_setting_that_differs_is_named(told: dict[str, Any], what: str) -> None:
    assert [s.what for s in contradicted(RIG, ARM, eagle3(server_info=told))] == [what]


def test_a_control_with_speculation_is_no_control() -> None:
    (found,) = contradicted(RIG, RIG.control, make_launch(server_info={"speculative_algorithm": "EAGLE"}))

    assert found.what == "the control arm baseline runs with speculation (EAGLE)"


def test_what_the_server_does_not_tell_is_not_held_against_it() -> None:
    launch = eagle3()
    assert launch.server is not None
    silent = launch.model_copy(update={"server": launch.server.model_copy(update={"server_info": {}})})

    assert list(contradicted(RIG, ARM, silent)) == []


@pytest.mark.parametrize(
    ("wanted", "told"),
    [(0.88, "0.88"), (True, True), ("8", 8), ((1, 2), [1, 2]), ('{"a": 1}', {"a": 1})],
)
def test_spelling_makes_no_difference(wanted: Any, told: Any) -> None:
    rig = make_rig(
        server={"python": "p", "model_path": "/models/target", "args": {"tp_size": 2, "some_arg": wanted}}
    )

    assert adapted(rig, rig.control, make_launch(server_info={"some_arg": told})) == ()


def test_what_sglang_adapts_to_the_machine_is_only_told() -> None:
    rig = make_rig(
        server={"python": "p", "model_path": "/models/target", "args": {"mem_fraction_static": 0.88}}
    )
    launch = make_launch(server_info={"mem_fraction_static": 0.7})

    assert list(contradicted(rig, rig.control, launch)) == []
    assert adapted(rig, rig.control, launch) == (
        "SGLang runs with mem_fraction_static=0.7, the rig says 0.88",
    )


def test_a_model_named_on_a_hub_may_be_told_as_a_folder() -> None:
    rig = make_rig(server={"python": "p", "model_path": "org/model", "args": {"tp_size": 2}})
    launch = make_launch(server_info={"model_path": "/cache/org--model"})

    assert list(contradicted(rig, rig.control, launch)) == []


def test_short_flag_names_mean_the_same_setting() -> None:
    rig = make_rig(
        server={"python": "p", "model_path": "/models/target", "args": {"tp": 4}},
        arms=[{"name": "baseline", "kind": "baseline"}, {"name": "eagle3-2step", **EAGLE3}],
    )

    (found,) = contradicted(rig, rig.control, make_launch())
    assert found.what == "tp_size is 2 in the server, 4 in the rig"
