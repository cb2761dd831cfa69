from __future__ import annotations

import pytest

from tokgate.rig.models import Rig
from tokgate.rig.places import Kind, place_at
from tokgate.rig.spelling import KeyPath

DATA = {
    "arms": [{"name": "plain"}],
    "prompt_sets": {"ids": {"kind": "token-ids"}, "texts": {"kind": "text"}, "untold": {"file": "x"}},
}


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ((), Kind.TABLE),
        (("server",), Kind.TABLE),
        (("server", "args"), Kind.OPEN),
        (("server", "args", "tp_size"), Kind.VALUE),
        (("arms",), Kind.LIST),
        (("arms", 0), Kind.TABLE),
        (("arms", 0, "num_steps"), Kind.VALUE),
        (("lossless",), Kind.TABLE),
        (("floors",), Kind.OPEN),
        (("floors", "ttft_ms"), Kind.TABLE),
        (("server", "pass_environment"), Kind.LIST),
        (("gpus", "count", "x"), None),
        (("nothing",), None),
    ],
)
def test_every_place_is_known(path: KeyPath, kind: Kind | None) -> None:
    place = place_at(Rig, path, DATA)
    assert (place.kind if place else None) == kind


@pytest.mark.parametrize(("name", "key"), [("ids", "length"), ("texts", "file"), ("untold", "file")])
def test_the_kind_picks_among_several_tables(name: str, key: str) -> None:
    place = place_at(Rig, ("prompt_sets", name), DATA)
    assert place is not None
    assert key in place.names


@pytest.mark.parametrize(
    ("path", "text_only"),
    [
        (("server", "environment", "A"), True),
        (("server", "nccl", "NCCL_ALGO"), True),
        (("gpus", "model"), True),
        (("server", "args", "a"), False),
        (("gpus", "count"), False),
        (("server", "port"), False),
    ],
)
def test_where_only_a_text_is_possible(path: KeyPath, text_only: bool) -> None:
    place = place_at(Rig, path, DATA)
    assert place is not None
    assert place.text_only is text_only
