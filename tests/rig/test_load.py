from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from tokgate.errors import RigError
from tokgate.rig.load import load_rig, rig_names

from .conftest import Checkout

REPOSITORY = Path(__file__).parents[2]


def test_a_rig_is_loaded_by_its_name(checkout: Checkout) -> None:
    checkout.write()
    rig = checkout.load()
    assert rig.control.name == "baseline"
    assert rig.arm("eagle3-2step").num_draft_tokens == 3
    assert rig.workload("single").concurrency == 1
    assert rig.server.args == {"tp_size": 1}


@pytest.mark.parametrize("name", rig_names(REPOSITORY))
def test_every_rig_that_is_shipped_loads(name: str) -> None:
    assert load_rig(name, root=REPOSITORY).name == name


def test_the_shipped_rigs_are_there() -> None:
    assert {"kimi-k2.5-8gpu", "sglang-cpu"} <= set(rig_names(REPOSITORY))


def test_root_is_expanded_in_every_text(checkout: Checkout) -> None:
    checkout.write(
        ('OMP_NUM_THREADS = "1"', 'PYTHONPATH = "{root}/a:{root}/b"\n[server.args]'),
        ("[server.args]\ntp_size = 1", "# "),
    )
    rig = checkout.load("server.args.tokenizer={root}/tokenizer")
    assert rig.server.model_path == f"{checkout.root}/models/target"
    assert rig.server.environment["PYTHONPATH"] == f"{checkout.root}/a:{checkout.root}/b"
    assert rig.server.args["tokenizer"] == f"{checkout.root}/tokenizer"


def test_a_path_may_be_given_instead_of_a_name(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    file = checkout.write()
    monkeypatch.chdir(checkout.root / "rigs")
    elsewhere = Path("/nowhere")
    assert load_rig(str(file), root=elsewhere).name == "small"
    assert load_rig("small.toml", root=elsewhere).name == "small"
    monkeypatch.chdir("/")
    assert load_rig("rigs/small.toml", root=checkout.root).name == "small"


def test_prompt_files_are_found_beside_the_rig(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "rigs" / "texts.jsonl").write_text('{"text": "Once"}\n{"text": "Twice"}\n')
    checkout.write(add='[prompt_sets.texts]\nkind = "text"\nfile = "texts.jsonl"\n')
    prompts = checkout.load().prompt_sets["texts"]
    assert prompts.kind == "text"
    assert prompts.file == str(tmp_path / "rigs" / "texts.jsonl")


def test_a_missing_rig_lists_those_that_exist_and_the_nearest(checkout: Checkout) -> None:
    checkout.write()
    checkout.write(name="kimi-k2.5-8gpu")
    with pytest.raises(RigError) as caught:
        load_rig("kimi-k2-8gpu", root=checkout.root)
    assert "kimi-k2.5-8gpu, sglang-cpu, sim-8gpu, small" in caught.value.found
    assert caught.value.do == 'use "kimi-k2.5-8gpu", the nearest name'


@pytest.mark.parametrize("name", ["mybox", "gpu7", "h200x3", "h100"])
def test_for_a_missing_rig_no_other_machine_is_offered(checkout: Checkout, name: str) -> None:
    checkout.write(name="h100box")
    checkout.write(name="gpu8")
    with pytest.raises(RigError) as caught:
        load_rig(name, root=checkout.root)
    assert "nearest" not in caught.value.do
    assert "tokgate rig init" in caught.value.do


@pytest.mark.parametrize("name", ["", "../rigs", "a/b/c", "x" * 5000, "nul\0", "/etc", "/etc/hostname.toml"])
def test_an_odd_name_is_a_missing_rig(checkout: Checkout, name: str) -> None:
    checkout.write()
    with pytest.raises(RigError, match=r"rigs that exist: .*, small"):
        load_rig(name, root=checkout.root)


def test_broken_toml_names_file_and_line(checkout: Checkout) -> None:
    file = checkout.root / "rigs" / "small.toml"
    file.write_text('name = "small"\n\n[gpus\ncount = 0\n')
    error = checkout.refusal()
    assert str(file) in error.tried
    assert "line 3" in error.found


def test_a_key_given_twice_is_broken_toml(checkout: Checkout) -> None:
    checkout.write(("tp_size = 1", "tp_size = 1\ntp_size = 2"))
    assert "Cannot overwrite a value (at line 13" in checkout.refusal().found


@pytest.mark.parametrize("text", ["x = " + "[" * 100_000, "x = " + "9" * 5000])
def test_toml_that_python_cannot_hold(checkout: Checkout, text: str) -> None:
    (checkout.root / "rigs" / "small.toml").write_text(text)
    assert checkout.refusal().found.startswith("invalid TOML: ")
    checkout.write()
    assert (
        "server.args.tp_size" in checkout.refusal(f"server.args.tp_size={text.removeprefix('x = ')}\0").found
    )


def test_bytes_that_are_not_utf8(checkout: Checkout) -> None:
    (checkout.root / "rigs" / "small.toml").write_bytes(b'name = "sm\xff"')
    assert "not UTF-8 at offset 10" in checkout.refusal().found


WRONG = [
    # what is changed, and what the error must say of it
    (("count = 0", "cuont = 0"), 'gpus.cuont: found 0; wanted no key of this name here, nearest known name: "count"'),
    (("count = 0", "cuont = 0"), "gpus.count: found nothing; wanted a value: GPUs the host must have"),
    (("count = 0", 'count = "8"'), 'gpus.count: found "8"; wanted a whole number'),
    (("count = 0", "count = -1"), "gpus.count: found -1; wanted greater than or equal to 0"),
    (("count = 0", "count = true"), "gpus.count: found true; wanted a whole number"),
    (("[gpus]", "[gpu]"), 'gpu: found {count = 0}; wanted no key of this name here, nearest known name: "gpus"'),
    (("[gpus]\ncount = 0", 'gpus = "none"'), 'gpus: found "none"; wanted a table'),
    (("num_steps = 2", 'num_steps = "two"'), 'arms[1 "eagle3-2step"].num_steps: found "two"; wanted a whole number'),
    (("topk = 1", "eagle_topk = 1"), 'arms[1 "eagle3-2step"].eagle_topk: found 1; wanted no key of this name here, nearest known name: "topk"'),
    (("topk = 1", ""), 'arms[1 "eagle3-2step"].topk: found nothing; wanted the branches of each draft step'),
    (('draft_model_path = "/models/draft"', ""), 'arms[1 "eagle3-2step"].draft_model_path: found nothing; wanted the path of the draft model: an eagle3 arm needs one'),
    (('kind = "baseline"', 'kind = "baseline"\ntopk = 1\nacceptance = 2.0'), 'arms[0 "baseline"].topk: found 1; wanted no such key: a baseline arm runs without speculation'),
    (('kind = "baseline"', 'kind = "baseline"\nacceptance = 2.0'), 'arms[0 "baseline"].acceptance: found 2.0; wanted no such key'),
    (('kind = "eagle3"', 'kind = "eagle2"'), 'arms[1 "eagle3-2step"].kind: found "eagle2"; wanted "baseline" or "eagle3"'),
    (('name = "eagle3-2step"', 'name = "EAGLE 3"'), 'arms[1 "EAGLE 3"].name: found "EAGLE 3"; wanted a text that matches'),
    (("topk = 1", 'topk = 1\nacceptance = "naturally"'), 'acceptance: found "naturally"; wanted "natural" or a number'),
    (("topk = 1", "topk = 1\nacceptance = 0.5"), "acceptance: found 0.5; wanted"),
    (("tp_size = 1", "tp_size = {a = 1}"), "server.args.tp_size: found {a = 1}; wanted true or false or a whole number or a number or a text (in quotes) or a list"),
    (("tp_size = 1", "tp_size = [1, true]"), "server.args.tp_size[1]: found true; wanted"),
    (("tp_size = 1", "tp_size = 2026-01-01"), "server.args.tp_size: found the date or time 2026-01-01; wanted a text"),
    (("tp_size = 1", "tp_size = nan"), "server.args.tp_size: found nan; wanted a finite number"),
    (("tp_size = 1", "tp_size = 0x" + "f" * 5000), "server.args.tp_size: found a whole number of 20000 bits; wanted one of 64 bits at most"),
    (("tp_size = 1", 'tp_size = "a\\u001b[31m"'), 'server.args.tp_size: found "a\\u001b[31m"; wanted a text without control characters'),
    (('OMP_NUM_THREADS = "1"', "OMP_NUM_THREADS = 1"), "server.environment.OMP_NUM_THREADS: found 1; wanted a text (in quotes)"),
    (('NCCL_PROTO = "LL"', 'NCLL_PROTO = "LL"'), 'server.nccl.NCLL_PROTO: found "NCLL_PROTO"; wanted a text that matches'),
    (("length = 8", "lenght = 8"), 'prompt_sets.ids.lenght: found 8; wanted no key of this name here, nearest known name: "length"'),
    (('kind = "token-ids"', 'kind = "tokens"'), "prompt_sets.ids: found"),
    (('kind = "token-ids"', 'kind = "tokens"'), 'wanted "token-ids" or "text"'),
    (('kind = "token-ids"', ""), 'wanted a table with kind = "token-ids" or kind = "text"'),
    (("at_least = 10.0", ""), "a budget needs at_least, at_most or break_even_margin"),
    (('mode = "exact"', 'mode = "exact"\ncuont = 3'), 'lossless.cuont: found 3; wanted no key of this name here, nearest known name: "count"'),
    (('name = "small"', 'name = "other"'), 'name: found "other"; wanted "small", the name of the file'),
    (('python = "/opt/python"', ""), "server.python: found nothing; wanted a value: the interpreter that has SGLang"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "expected"), WRONG, ids=[str(i) for i in range(len(WRONG))])
def test_an_error_names_file_key_found_and_wanted(
    checkout: Checkout, change: tuple[str, str], expected: str
) -> None:
    file = checkout.write(change)
    error = checkout.refusal()
    assert error.tried == f"read the rig {file}"
    assert expected in error.found


def test_one_mistake_is_one_problem(checkout: Checkout) -> None:
    checkout.write(("num_steps = 2", 'num_steps = "two"'))
    assert checkout.refusal().found == 'arms[1 "eagle3-2step"].num_steps: found "two"; wanted a whole number'


def test_all_mistakes_are_listed(checkout: Checkout) -> None:
    checkout.write(("count = 0", 'count = "8"\nmodle = "H200"'), ("repeats = 2", "repeats = 0"))
    found = checkout.refusal().found
    assert found.startswith("3 problems\n")
    for part in ("gpus.count", "gpus.modle", 'workloads[0 "single"].repeats'):
        assert f"  - {part}: " in found


def test_an_unknown_key_does_not_hide_what_else_is_wrong(checkout: Checkout) -> None:
    checkout.write(
        ("repeats = 2", "repeats = 2\nconcurency = 4"), ('prompts = "ids"\noutput', 'prompts = "id"\noutput')
    )
    found = checkout.refusal().found
    assert "concurency" in found
    assert (
        'workloads[0 "single"].prompts: found "id"; wanted a prompt set of this rig, nearest known name: "ids"'
        in found
    )


def test_terminal_controls_in_keys_are_escaped(checkout: Checkout) -> None:
    checkout.write(("count = 0", 'count = 0\n"\\u001b[2J\\u202e" = 1'))
    found = checkout.refusal().found
    assert found.isprintable()
    assert r'gpus."\u001b[2J\u202e"' in found


def test_the_error_survives_pickling(checkout: Checkout) -> None:
    checkout.write(("count = 0", "count = -1"))
    error = checkout.refusal()
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_what_is_too_large_to_be_a_rig_is_told_at_once(checkout: Checkout) -> None:
    file = checkout.root / "rigs" / "log.toml"
    file.write_text("\n".join(f"k{number} = 1" for number in range(40_000)))
    with pytest.raises(RigError, match="more than 256 KiB"):
        load_rig(str(file), root=checkout.root)


def test_a_byte_order_mark_of_a_windows_editor_is_no_error(checkout: Checkout) -> None:
    file = checkout.write()
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes())
    assert checkout.load().control.name == "baseline"


@pytest.mark.parametrize("deep", [40, 5_000])
def test_a_table_too_deep_for_any_rig_is_refused(tmp_path: Path, deep: int) -> None:
    file = tmp_path / "deep.toml"
    file.write_text(f"[{'.'.join('a' * deep)}]\n")
    with pytest.raises(RigError, match="more than 32 deep"):
        load_rig(str(file), root=tmp_path)
