"""An argument that SGLang refuses: the rig's key, the nearest name, and which other launches it ends too."""

from __future__ import annotations

import pytest

from tests.session.rigs import small_rig
from tokgate.records import StartCause, StartFailure
from tokgate.rig.models import Rig
from tokgate.session.refused import by_every_server, named


def given(where: str, **args: int) -> Rig:
    rig = small_rig()
    if where == "server":
        return rig.model_copy(update={"server": rig.server.model_copy(update={"args": args})})
    return rig.model_copy(update={"arms": (rig.arms[0].model_copy(update={"args": args}), *rig.arms[1:])})


def refused(words: str = "unrecognized arguments: --tp-sise 4") -> StartFailure:
    return StartFailure(
        cause=StartCause.BAD_ARGUMENT,
        headline=f"the server refuses an argument: {words}",
        do="correct the argument in the rig; names change between SGLang versions",
    )


def test_the_key_and_the_nearest_name_come_first() -> None:
    rig = given("server", tp_sise=4)
    told = named(rig, rig.arms[0].name, refused())
    assert told.headline.startswith("SGLang refuses server.args.tp_sise; nearest known name: tp_size (")
    assert told.do.startswith("write tp_size")


def test_a_value_that_is_refused_has_no_nearest_name() -> None:
    rig = given("server", tp_size=4)
    told = named(rig, rig.arms[0].name, refused("argument --tp-size: invalid int value: 'x'"))
    assert told.headline.startswith("SGLang refuses server.args.tp_size (")
    assert told.do == refused().do


def test_an_argument_that_the_rig_does_not_give_leaves_the_failure_as_it_is() -> None:
    rig = given("server", tp_size=4)
    assert named(rig, rig.arms[0].name, refused()) == refused()


@pytest.mark.parametrize(("where", "shared"), [("server", True), ("arm", False)])
def test_only_what_every_server_is_given_ends_every_launch(where: str, shared: bool) -> None:
    rig = given(where, tp_sise=4)
    assert by_every_server(rig, rig.arms[0].name, refused()) is shared
