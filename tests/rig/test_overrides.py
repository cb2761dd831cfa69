from __future__ import annotations

import pytest

from tokgate.rig.overrides import parse_value

from .conftest import Checkout


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("4", 4),
        ("0.88", 0.88),
        ("true", True),
        ('"4"', "4"),
        ("[1, 2]", [1, 2]),
        ("{a = 1}", {"a": 1}),
        ("eagle3", "eagle3"),
        ("/a b/c", "/a b/c"),
        ("", ""),
        ("1.2.3", "1.2.3"),
        ("2026-01-01", "2026-01-01"),
        ("4\nother = 5", "4\nother = 5"),
        ("{root}/x", "{root}/x"),
    ],
)
def test_values_are_toml_else_text(text: str, value: object) -> None:
    assert parse_value(text) == value
    assert type(parse_value(text)) is type(value)


def test_values_are_set(checkout: Checkout) -> None:
    checkout.write()
    rig = checkout.load(
        "server.args.tp_size=4",
        "server.args.new_flag=[1, 2]",
        "arms.eagle3-2step.num_steps=3",
        "arms.1.num_draft_tokens=4",
        "prompt_sets.ids.length=9",
        "host.testinfra=ssh://root@box:22",
        "floors.decode_tok_s.relative=0.05",
        "budgets.0.at_least=12",
        "description=a = b",
        "server.pass_environment=['PATH']",
    )
    assert rig.server.args == {"tp_size": 4, "new_flag": (1, 2)}
    assert rig.arm("eagle3-2step").num_steps == 3
    assert rig.arm("eagle3-2step").num_draft_tokens == 4
    assert rig.prompt_sets["ids"].model_dump()["length"] == 9
    assert rig.host.testinfra == "ssh://root@box:22"
    assert rig.floors["decode_tok_s"].relative == 0.05
    assert rig.budgets[0].at_least == 12
    assert rig.description == "a = b"
    assert rig.server.pass_environment == ("PATH",)


def test_the_last_of_two_wins(checkout: Checkout) -> None:
    checkout.write()
    assert checkout.load("server.args.tp_size=4", "server.args.tp_size=8").server.args["tp_size"] == 8


def test_where_only_a_text_is_possible_no_quotes_are_needed(checkout: Checkout) -> None:
    checkout.write()
    rig = checkout.load(
        "server.environment.OMP_NUM_THREADS=2", "server.nccl.NCCL_BUFFSIZE='4194304'", "description=7"
    )
    assert rig.server.environment["OMP_NUM_THREADS"] == "2"
    assert rig.server.nccl["NCCL_BUFFSIZE"] == "4194304"
    assert rig.description == "7"


def test_names_with_dots(checkout: Checkout) -> None:
    checkout.write(('name = "eagle3-2step"', 'name = "qwen-2.5.x"'))
    assert checkout.load("arms.qwen-2.5.x.topk=2").arm("qwen-2.5.x").topk == 2
    assert checkout.load('arms."qwen-2.5.x".topk=2').arm("qwen-2.5.x").topk == 2


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (
            "server.arg.tp_size=4",
            'server.arg: found an unknown key in "--rig-set server.arg.tp_size=4"; wanted no key of this name here, nearest known name: "args"',
        ),
        ("sever.python=x", 'nearest known name: "server"'),
        ("gpus.cuont=1", 'nearest known name: "count"'),
        ("arms.eagle3-3step.num_steps=3", 'arms: found no item "eagle3-3step"'),
        ("arms.eagle3-3step.num_steps=3", 'nearest known name: "eagle3-2step"'),
        ("arms.7.num_steps=3", 'found no item "7"'),
        ("arms.-1.num_steps=3", 'found no item "-1"'),
        ("arms.eagle3-2step.steps=3", 'nearest known name: "num_steps"'),
        ("gpus.count.x=3", 'gpus.count: found the key "x" below it'),
        ("server.args.tp_size.x=3", "a single value: nothing lies below it"),
        ("twins.0.at_least=2", "twins: found no item"),
        ("server.args.tp_size", "wanted KEY=VALUE"),
        ("=4", "wanted KEY=VALUE"),
        ("", "wanted KEY=VALUE"),
        ("a..b=4", "wanted KEY=VALUE"),
        (
            "server.args.tp-size=4",
            'wanted the flag\'s name with underscores, such as "tp_size" (set by --rig-set server.args.tp-size)',
        ),
        ("gpus.count=many", 'gpus.count: found "many"; wanted a whole number (set by --rig-set gpus.count)'),
        ("name=other", 'name: found "other"; wanted "small", the name of the file (set by --rig-set name)'),
    ],
)
def test_what_cannot_be_set_is_an_error(checkout: Checkout, override: str, expected: str) -> None:
    checkout.write()
    assert expected in checkout.refusal(override).found


def test_all_wrong_overrides_are_listed(checkout: Checkout) -> None:
    checkout.write()
    found = checkout.refusal("gpus.cuont=1", "arms.x.topk=2", "server.args.tp_size=4").found
    assert found.startswith("2 problems")


def test_an_override_does_not_touch_the_file(checkout: Checkout) -> None:
    before = checkout.write().read_text()
    checkout.load("server.args.tp_size=4")
    assert (checkout.root / "rigs" / "small.toml").read_text() == before
    assert checkout.load().server.args["tp_size"] == 1
