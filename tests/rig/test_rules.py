"""What ties the keys of a rig together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tokgate.errors import RigError

from .conftest import Checkout

SECOND_ARM = '[[arms]]\nname = "{name}"\nkind = "{kind}"\n'
TWIN = '[[twins]]\narm = "{arm}"\nworkload = "{workload}"\n'
WORKLOAD = '[[workloads]]\nname = "{name}"\nprompts = "ids"\noutput_tokens = 4\nrepeats = 1\n'

CHANGED = [
    # arms
    (('kind = "baseline"', 'kind = "eagle3"\ndraft_model_path = "d"\nnum_steps = 1\ntopk = 1\nnum_draft_tokens = 2 # '), "arms: found 0 arms of kind baseline; wanted exactly one"),
    (("num_draft_tokens = 3", "num_draft_tokens = 4"), 'arms[1 "eagle3-2step"].num_draft_tokens: found 4; wanted 3: with topk = 1'),
    (("topk = 1\nnum_draft_tokens = 3", "topk = 4\nnum_draft_tokens = 1"), "num_draft_tokens: found 1; wanted at least 2"),
    (("topk = 1", "topk = 1\nacceptance = 3.5"), "acceptance: found 3.5; wanted at most num_steps + 1 = 3"),
    (("topk = 1", "topk = 1\nacceptance = 2.5"), "lossless: found 1 eagle3 arms, none with natural acceptance"),
    # names
    (('prompts = "ids"\noutput', 'prompts = "idz"\noutput'), 'workloads[0 "single"].prompts: found "idz"; wanted a prompt set of this rig, nearest known name: "ids"'),
    (('mode = "exact"\nprompts = "ids"', 'mode = "exact"\nprompts = "zzz"'), 'lossless.prompts: found "zzz"; wanted a prompt set of this rig, known names: ids'),
    (('metric = "decode_tok_s"', 'metric = "decode_toks"'), 'budgets[0].metric: found "decode_toks"; wanted a metric of this rig, nearest known name: "decode_tok_s"'),
    (('metric = "decode_tok_s"', 'metric = "ttft_ms"\narm = "eagle"'), 'budgets[0].arm: found "eagle"; wanted an arm or * of this rig, nearest known name: "eagle3-2step"'),
    (('metric = "decode_tok_s"', 'metric = "ttft_ms"\nworkload = "conc4"'), 'budgets[0].workload: found "conc4"'),
    (('metric = "decode_tok_s"', 'metric = "accept_length"\narm = "baseline"'), 'budgets[0].arm: found "baseline" for accept_length; wanted an eagle3 arm'),
    (("at_least = 10.0", "at_least = 10.0\nat_most = 5.0"), "budgets[0].at_least: found 10.0; wanted at most at_most = 5.0"),
    (('name = "single"', 'name = "lossless"'), 'workloads[0 "lossless"].name: found "lossless"; wanted another name'),
    (('metric = "decode_tok_s"', 'metric = "verify_ms"\narm = "baseline"'), 'budgets[0].arm: found "baseline" for verify_ms; wanted an eagle3 arm'),
    # budgets
    (("at_least = 10.0", "break_even_margin = 0.05"), "budgets[0].break_even_margin: found 0.05 for decode_tok_s; wanted at_least or at_most: only verify_ms, verify_p95_ms, cycle_ms, accept_length have a break-even"),
    (('"decode_tok_s"\nat_least = 10.0', '"cycle_ms"\nat_most = 20.0\nbreak_even_margin = 0.05'), "budgets[0].break_even_margin: found 0.05 beside at_most; wanted one of them"),
    (('"decode_tok_s"\nat_least = 10.0', '"cycle_ms"\nbreak_even_margin = 5'), "budgets[0].break_even_margin: found 5.0; wanted from 0 to below 1: 0.05 asks speculation to win by 5 %"),
    (('"decode_tok_s"\nat_least = 10.0', '"cycle_ms"\nbreak_even_margin = -0.05'), "budgets[0].break_even_margin: found -0.05; wanted from 0"),
    (('"decode_tok_s"\nat_least = 10.0', '"cycle_ms"\narm = "baseline"\nbreak_even_margin = 0.05'), 'budgets[0].arm: found "baseline" for cycle_ms; wanted an eagle3 arm'),
    (("at_least = 10.0", "at_least = 0.0"), "budgets[0].at_least: found 0.0; wanted greater than 0"),
    (("at_least = 10.0", "at_least = -5.0"), "budgets[0].at_least: found -5.0; wanted greater than 0"),
    (("at_least = 10.0", "at_most = 0.0"), "budgets[0].at_most: found 0.0; wanted greater than 0"),
    (("at_least = 10.0", "at_least = 1e308"), "budgets[0].at_least: found 1e+308; wanted less than or equal to"),
    # floors
    (("[lossless]", "[floors.decode_tok_s]\nrelative = 1e308\n[lossless]"), "floors.decode_tok_s.relative: found 1e+308; wanted less than or equal to 100"),
    (("[lossless]", "[floors.decode_tok_s]\nabsolute = 1e308\n[lossless]"), "floors.decode_tok_s.absolute: found 1e+308; wanted less than or equal to"),
    # sampling
    (("[lossless]", "[sampling]\nmost_restarts = 0\n[lossless]"), "sampling.most_restarts: found 0 with gpu_time_s = 600.0; wanted at least 1, or gpu_time_s = 0"),
    (("[lossless]", "[sampling]\nleast_restarts = 7\n[lossless]"), "sampling.least_restarts: found 7 with most_restarts = 6 and gpu_time_s = 600.0; wanted at most 6"),
    (("[lossless]", "[sampling]\nleast_restarts = 1\ngpu_time_s = 0\n[lossless]"), "sampling.least_restarts: found 1 with most_restarts = 6 and gpu_time_s = 0.0; wanted at most 0"),
    # settings
    (('OMP_NUM_THREADS = "1"', 'NCCL_PROTO = "Simple"'), 'server.environment.NCCL_PROTO: found "Simple", and "LL" in server.nccl; wanted it in one of the two only'),
    (('OMP_NUM_THREADS = "1"', 'TOKGATE_MARK = "x"'), "server.environment.TOKGATE_MARK: found"),
    (('OMP_NUM_THREADS = "1"', 'SGLANG_SIMULATE_ACC_LEN = "2"'), "wanted the arm's acceptance instead"),
    (('OMP_NUM_THREADS = "1"', '"A-B" = "2"'), 'found the name "A-B"; wanted letters, digits and underscores'),
    (("tp_size = 1", "tp_size = 1\nspeculative_num_steps = 3"), "server.args.speculative_num_steps: found 3; wanted the arm's num_steps instead"),
    (("tp_size = 1", 'tp_size = 1\nspeculative_attention_mode = "decode"'), "wanted it in the args of the arms that use it"),
    (("tp_size = 1", 'tp_size = 1\nmodel_path = "/x"'), "wanted server.model_path instead"),
    (("tp_size = 1", "tp_size = []"), "server.args.tp_size: found []; wanted at least one value"),
    (("tp_size = 1", 'tp_size = 1\n"--tp-size" = 2'), 'found the name "--tp-size"; wanted the flag\'s name with underscores, such as "tp_size"'),
    (('python = "/opt/python"', 'python = "/opt/python"\nport = "as-written"'), 'server.port: found "as-written" with server.args.port = nothing; wanted a port number there'),
    (('python = "/opt/python"', 'python = "/opt/python"\npass_environment = ["A=B"]'), 'server.pass_environment[0]: found the name "A=B"'),
    (("topk = 1", "topk = 1\nargs = {port = 8000}"), 'arms[1 "eagle3-2step"].args.port: found 8000; wanted it in server.args.port'),
    (('kind = "baseline"', 'kind = "baseline"\nargs = {speculative_attention_mode = "x"}'), "wanted none in the baseline arm"),
    # GPUs and NCCL
    (('NCCL_PROTO = "LL"', 'NCCL_PROTO = "LLL"'), 'server.nccl.NCCL_PROTO: found "LLL"; wanted another value: NCCL will not initialise: "LLL" in "LLL"'),
    (('NCCL_PROTO = "LL"', 'NCCL_ALGO = "Tree"'), "no algorithm with a protocol is left for Broadcast, Reduce, AllGather, ReduceScatter"),
    (('OMP_NUM_THREADS = "1"', 'NCCL_ALGO = "Rings"'), 'server.environment.NCCL_ALGO: found "Rings"; wanted another value'),
    (("topk = 1", 'topk = 1\nenvironment = {NCCL_BUFFSIZE = "0"}'), 'arms[1 "eagle3-2step"].environment.NCCL_BUFFSIZE: found "0"; wanted another value: in the arm eagle3-2step'),
    # prompts
    (("last_id = 100", "last_id = 3"), "prompt_sets.ids.last_id: found 3; wanted more than first_id = 3"),
    (("last_id = 100", "last_id = 2000000"), "wanted at most 999999: an id beyond the vocabulary kills the server"),
    (("repeats = 2", 'repeats = 2\ncache = "unique"'), 'found "ids", used elsewhere too, with cache = "unique"; wanted a prompt set of its own'),
]  # fmt: skip


@pytest.mark.parametrize(("change", "expected"), CHANGED, ids=[str(i) for i in range(len(CHANGED))])
def test_a_broken_rule_is_an_error(checkout: Checkout, change: tuple[str, str], expected: str) -> None:
    checkout.write(change)
    assert expected in checkout.refusal().found


ADDED = [
    (SECOND_ARM.format(name="plain", kind="baseline"), "arms: found 2 arms of kind baseline (baseline, plain); wanted exactly one"),
    (SECOND_ARM.format(name="baseline", kind="baseline"), 'arms[2 "baseline"].name: found "baseline"; wanted a name of its own: arms[0] has this one'),
    (WORKLOAD.format(name="single"), 'workloads[1 "single"].name: found "single"; wanted a name of its own'),
    (TWIN.format(arm="eagle3", workload="*"), 'twins[0].arm: found "eagle3"'),
    ('\n[host]\nenvironment = { "A=B" = "1" }\n', 'host.environment."A=B": found the name "A=B"'),
    ('\n[host]\npath = ["opt/bin"]\n', 'host.path[0]: found "opt/bin"; wanted one absolute folder each'),
    (TWIN.format(arm="*", workload="singel"), 'twins[0].workload: found "singel"; wanted a workload or * of this rig, nearest known name: "single"'),
    (TWIN.format(arm="baseline", workload="*"), 'twins[0].arm: found "baseline"; wanted an eagle3 arm or *'),
    ('[instruments]\nskip = "no time"\n[[budgets]]\nmetric = "verify_ms"\nat_most = 5.0\n', 'budgets[1].metric: found "verify_ms" with instruments.skip = "no time"; wanted no skip, or no such budget'),
    ('[[arms]]\nname = "fixed"\nkind = "eagle3"\ndraft_model_path = "d"\nnum_steps = 2\ntopk = 1\nnum_draft_tokens = 3\nacceptance = 2.5\n[[budgets]]\nmetric = "accept_length"\narm = "fixed"\nat_least = 2.0\n', 'budgets[1].arm: found "fixed" for accept_length, with acceptance = 2.5; wanted an arm with natural acceptance: a pinned one is judged by its pin'),
    ('[instruments]\nskip = "no time"\n[[budgets]]\nmetric = "verify_ms"\nbreak_even_margin = 0.05\n', 'budgets[1].metric: found "verify_ms" with instruments.skip = "no time"'),
    ('[instruments]\nworkloads = ["singel"]\n', 'instruments.workloads[0]: found "singel"; wanted a workload of this rig, nearest known name: "single"'),
    ('[instruments]\nworkloads = ["single", "single"]\n', 'instruments.workloads[1]: found "single"; wanted each workload once'),
    ("[instruments]\nworkloads = []\n", "instruments.workloads: found []"),
    ("[instruments]\ncost_pairs = 5\n", "instruments.cost_pairs: found 5; wanted at least 6, fewer have no interval; or 0"),
    ('[instruments]\nworkloads = ["single"]\n' + WORKLOAD.format(name="two") + '\n[[budgets]]\nmetric = "verify_ms"\nworkload = "two"\nat_most = 5.0\n', 'budgets[1].workload: found "two" for verify_ms, not among instruments.workloads; wanted "two" in instruments.workloads'),
    (WORKLOAD.format(name="probe-off"), 'workloads[1 "probe-off"].name: found "probe-off"; wanted another name: starts without the probe run under this one'),
    ("[floors.decode_tok_s]\nrelative = 0.1\nstored = 0.05\n", "stored = 0.05 is below relative = 0.1"),
    ("[floors.decode]\nrelative = 0.1\n", 'floors.decode: found "decode"; wanted a metric of this rig'),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), ADDED, ids=[str(i) for i in range(len(ADDED))])
def test_what_is_added_must_fit(checkout: Checkout, text: str, expected: str) -> None:
    checkout.write(add=text)
    assert expected in checkout.refusal().found


@pytest.mark.parametrize("name", ["api_key", "admin_api_key", '"--api-key"'])
@pytest.mark.parametrize("place", ["tp_size = 1\n", "topk = 1\nargs."])
def test_a_secret_in_a_file_is_refused_and_not_repeated(checkout: Checkout, name: str, place: str) -> None:
    checkout.write((place.splitlines()[0], f'{place}{name} = "hunter2"'))
    error = checkout.refusal()
    assert "a key in a file" in error.found
    assert "hunter2" not in str(error)


def test_a_secret_given_as_an_override_is_not_repeated(checkout: Checkout) -> None:
    checkout.write()
    assert "hunter2" not in str(checkout.refusal("server.args.api_key=hunter2"))


def test_all_broken_rules_are_listed(checkout: Checkout) -> None:
    checkout.write(("num_draft_tokens = 3", "num_draft_tokens = 9"), ("last_id = 100", "last_id = 1"))
    assert checkout.refusal().found.startswith("2 problems")


TEXTS = '[prompt_sets.texts]\nkind = "text"\nfile = "texts.jsonl"\n'


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "No such file"),
        (b"", 'texts.jsonl", empty; wanted at least one line'),
        (b'{"text": "a"}\nplain\n', 'found "plain" in line 2 of'),
        (b'{"prompt": "a"}\n', "in line 1 of"),
        (b'{"text": "  "}\n', "in line 1 of"),
        (b'{"text": 3}\n', "in line 1 of"),
        (b"[" * 100_000, "in line 1 of"),
        (b"\xff\n", "invalid start byte"),
    ],
)
def test_text_prompts_must_be_readable(
    checkout: Checkout, tmp_path: Path, content: bytes | None, expected: str
) -> None:
    if content is not None:
        (tmp_path / "rigs" / "texts.jsonl").write_bytes(content)
    checkout.write(add=TEXTS)
    found = checkout.refusal().found
    assert found.startswith("prompt_sets.texts.file: found ")
    assert expected in found


def test_unique_prompts_must_suffice(checkout: Checkout, tmp_path: Path) -> None:
    (tmp_path / "rigs" / "texts.jsonl").write_text('{"text": "a"}\n' * 5)
    workload = (
        WORKLOAD.format(name="unique").replace('"ids"', '"texts"') + 'cache = "unique"\nconcurrency = 3\n'
    )
    checkout.write(add=TEXTS + workload)
    assert 'found "unique" with 5 prompts in "texts" for 6 generations' in checkout.refusal().found
    checkout.write(add=TEXTS + workload.replace("concurrency = 3", "concurrency = 2"))
    assert checkout.load().workload("unique").cache == "unique"


GPUS = [
    (("tp_size = 1", "tp_size = 8"), "server.args.tp_size: found 8 GPUs asked for by the arm baseline (tp_size = 8); wanted no more than gpus.count = 4"),
    (("tp_size = 1", "tp = 2\ndp_size = 4"), "server.args.tp: found 8 GPUs asked for by the arm baseline (tp_size = 2, dp_size = 4)"),
    (("topk = 1", "topk = 1\nargs = {tp_size = 8}"), 'arms[1 "eagle3-2step"].args.tp_size: found 8 GPUs asked for by the arm eagle3-2step'),
    (("tp_size = 1\n\n[server.environment]", 'tp_size = 4\n\n[server.environment]\nCUDA_VISIBLE_DEVICES = "0,1"'), 'server.environment.CUDA_VISIBLE_DEVICES: found "0,1", 2 GPUs for the 4 that the arm baseline asks for'),
]  # fmt: skip


@pytest.mark.parametrize(("change", "expected"), GPUS, ids=[str(i) for i in range(len(GPUS))])
def test_more_gpus_than_the_host_has(checkout: Checkout, change: tuple[str, str], expected: str) -> None:
    checkout.write(("count = 0", "count = 4"), change)
    assert expected in checkout.refusal().found


def test_as_many_gpus_as_the_host_has(checkout: Checkout) -> None:
    checkout.write(("count = 0", "count = 4"), ("tp_size = 1", "tp_size = 4"))
    checkout.load()


def test_what_nccl_merely_ignores_refuses_nothing(checkout: Checkout) -> None:
    checkout.write(('NCCL_PROTO = "LL"', 'NCCL_P2P_LEVEL = "sys"'))
    checkout.load()


@pytest.mark.parametrize(
    ("override", "found"),
    [
        ("server.args.tp_size=eight", 'server.args.tp_size: found "eight" (from --rig-set'),
        ("server.args.tp_size=0", "wanted an integer of 1 or more"),
        ("server.args.tp_size=-8", "wanted an integer of 1 or more"),
        ("server.args.tp_size=8.5", "wanted an integer of 1 or more"),
        ("server.args.tp_size=true", "wanted an integer of 1 or more"),
        ("server.args.port=99999", "wanted a port from 1 to 65535"),
        ("arms.eagle3-2step.args.max_running_requests=0", "wanted an integer of 1 or more"),
    ],
)
def test_a_value_that_no_server_takes_is_refused(checkout: Checkout, override: str, found: str) -> None:
    checkout.write()
    with pytest.raises(RigError) as refused:
        checkout.load(override)
    assert found.partition(" (from")[0] in refused.value.found


@pytest.mark.parametrize("value", ["2", '"2"', "false"])
def test_a_number_may_be_written_as_a_command_line_has_it(checkout: Checkout, value: str) -> None:
    checkout.write()
    checkout.load(f"server.args.page_size={value}")
