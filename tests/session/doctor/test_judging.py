"""What each check says of what it sees, failing case by failing case. The hosts are in test_hosts.py."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.session.rigs import small_rig
from tokgate.records import Finding
from tokgate.records.doctor import Remark, State
from tokgate.records.model import ModelConfig, ModelFolder
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig
from tokgate.session.doctor import (
    arguments,
    client,
    fitting,
    gpus,
    machine,
    models,
    rooms,
    settings,
    slate,
    software,
    stored,
)
from tokgate.session.doctor.check import Case
from tokgate.session.history_file import history_path

ROOT = Path(__file__).parents[3]
GIB = 1024


def rig(name: str = "kimi-k2.5-8gpu", *overrides: str) -> Rig:
    return load_rig(name, root=ROOT, overrides=overrides)


def only(remarks: Iterable[Remark]) -> Remark:
    (one,) = remarks
    return one


def said(remarks: Iterable[Remark]) -> tuple[State, str]:
    found = only(remarks)
    assert found.do or found.state not in (State.WARN, State.FAIL)
    return found.state, found.found


# --- the machine -----------------------------------------------------------------------------------------------------


def test_a_clock_that_is_off() -> None:
    assert said(rooms.judge_skew((0.4, 0.5)))[0] is State.OK
    assert said(rooms.judge_skew((-31.0, 0.1))) == (State.WARN, "its clock is 31.0 s behind this machine's")
    # What the answer took may be all of it.
    assert said(rooms.judge_skew((5.0, 4.0)))[0] is State.OK


@pytest.mark.parametrize(
    ("room", "state", "words"),
    [
        (
            {"writable": False},
            State.FAIL,
            "/srv, where it would be made, cannot be written by the login user",
        ),
        ({"free_mib": 60}, State.FAIL, "60 MiB and 50000 inodes are free on the disk of /srv/w"),
        ({"free_inodes": 3}, State.FAIL, "90000 MiB and 3 inodes are free on the disk of /srv/w"),
        (
            {"free_mib": 900},
            State.WARN,
            "900 MiB are free on the disk of /srv/w; traces of all ranks may take more",
        ),
        ({}, State.OK, "/srv/w, to be made: 88 GiB free"),
    ],
)
def test_the_work_folder(room: dict[str, Any], state: State, words: str) -> None:
    whole = {
        "exists": False,
        "nearest": "/srv",
        "writable": True,
        "free_mib": 90_000,
        "free_inodes": 50_000,
    } | room
    assert said(rooms.judge_work_dir("/srv/w", whole)) == (state, words)


def test_a_folder_that_another_users_gate_has_made() -> None:
    room = {"exists": True, "nearest": "/srv/w", "writable": True, "free_mib": 9000, "free_inodes": 9000}
    inner = {**room, "nearest": "/srv/w/launches", "writable": False}
    assert said(rooms.judge_work_dir("/srv/w", room, [room, inner])) == (
        State.FAIL,
        "/srv/w/launches cannot be written by the login user: another user's gate made it",
    )


def test_a_home_that_cannot_be_written() -> None:
    room = {"exists": True, "nearest": "/root", "writable": True, "free_mib": 9000, "free_inodes": 9000}
    assert said(rooms.judge_home(room))[0] is State.OK
    assert said(rooms.judge_home({**room, "writable": False}))[0] is State.WARN
    assert said(rooms.judge_home({**room, "free_mib": 3})) == (State.WARN, "3 MiB are free in /root")


@pytest.mark.parametrize(
    ("state", "outcome", "words"),
    [
        ({"cores": 4}, State.WARN, "4 cores for 8 ranks and the tokenizer: each rank spins one"),
        (
            {"cpu_quota": 6.0},
            State.WARN,
            "64 cores, limited to 6 by the control group for 8 ranks and the tokenizer",
        ),
        (
            {"load": [61.0, 0, 0]},
            State.WARN,
            "64 cores, load 61.0 in the last minute: too few are left for 8 ranks",
        ),
        (
            {"governors": {"powersave": 64}},
            State.WARN,
            "CPU governor powersave: clocks rise only after work has come",
        ),
        ({}, State.OK, "64 cores for 8 ranks; governor performance; load 1.0"),
    ],
)
def test_cores(state: dict[str, Any], outcome: State, words: str) -> None:
    whole = {
        "cores": 64,
        "cpu_quota": None,
        "load": [1.0, 1.0, 1.0],
        "governors": {"performance": 64},
    } | state
    found = said(machine.judge_cores(rig(), whole))
    assert found[0] is outcome
    assert found[1].startswith(words)


def test_memory_and_swap() -> None:
    memory = {"total": 512 * GIB, "available": 400 * GIB, "swap_total": 8 * GIB, "swap_used": 0}
    assert said(machine.judge_memory(memory, None)) == (State.OK, "400.0 of 512.0 GiB available")
    assert said(machine.judge_memory({**memory, "swap_used": 3 * GIB}, None))[0] is State.WARN
    assert said(machine.judge_memory({**memory, "available": 9 * GIB}, 64 * GIB)) == (
        State.WARN,
        "9.0 of 512.0 GiB available, the control group allows 64.0 GiB: the kernel may kill a rank",
    )


def test_limits_and_shared_memory() -> None:
    good = {"nofile": [1024, 1048576], "memlock": [-1, -1], "nproc": [-1, -1]}
    assert said(machine.judge_limits(rig(), good))[0] is State.OK
    assert said(machine.judge_limits(rig(), {**good, "nofile": [1024, 1024]})) == (
        State.WARN,
        "open files 1024 (at most 1024), locked memory unlimited: starts of large models have died of too many open files",
    )
    assert said(machine.judge_limits(rig(), {**good, "memlock": [65536, 65536]}))[0] is State.NOTE
    assert said(machine.judge_shared_memory(64))[0] is State.WARN  # docker's own default
    assert said(machine.judge_shared_memory(16 * GIB)) == (State.OK, "/dev/shm has 16.0 GiB")


# --- the slate -------------------------------------------------------------------------------------------------------


def test_a_login_that_hides_gpus() -> None:
    assert said(slate.judge_passed_on(rig(), {"CUDA_VISIBLE_DEVICES": "0,1"})) == (
        State.FAIL,
        "the login has CUDA_VISIBLE_DEVICES='0,1', and the rig passes it on: 2 GPUs for the 8 that are asked for",
    )
    assert said(slate.judge_passed_on(rig(), {"PATH": "/bin"}))[0] is State.OK
    assert said(slate.judge_passed_on(rig(), {"LD_LIBRARY_PATH": "/opt/nccl"}))[0] is State.NOTE


@pytest.mark.parametrize("severity", ["unclean", "unknown"])
def test_what_stops_a_gate_is_a_failure_here(severity: Any) -> None:
    """What cannot be seen is not clean: the gate refuses it, so the doctor must not say less."""
    found = slate.remark_of(Finding(severity=severity, what="memory is held", do="end it"))
    assert (found.state, found.do) == (State.FAIL, "end it")


# --- GPUs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("newest", "built", "state", "words"),
    [
        ("12.4", "13.0", State.FAIL, "driver 550.54 knows CUDA up to 12.4, torch is built for 13.0"),
        (
            "12.4",
            "12.8",
            State.NOTE,
            "driver 550.54 knows CUDA up to 12.4, torch is built for 12.8: compatible within",
        ),
        ("12.8", "12.8", State.OK, "driver 550.54 knows CUDA up to 12.8, torch is built for 12.8"),
        ("12.8", "none", State.FAIL, "torch there is a CPU build: it sees no GPU"),
        ("12.8", None, State.FAIL, "there is no torch in the server's Python"),
        (None, "12.8", State.UNKNOWN, "driver 550.54, whose CUDA is not told; torch is built for CUDA 12.8"),
    ],
)
def test_driver_and_torch(newest: str | None, built: str | None, state: State, words: str) -> None:
    found = said(gpus.judge_driver("550.54", newest, built))
    assert found[0] is state
    assert found[1].startswith(words)


def test_links_and_the_level_that_the_rig_allows() -> None:
    pairs = {"0-1": "PIX", "0-2": "SYS", "1-2": "SYS"}
    plain = small_rig()
    no_level = plain.model_copy(update={"gpus": plain.gpus.model_copy(update={"count": 3})})
    narrow = rig("kimi-k2.5-8gpu", "server.nccl.NCCL_P2P_LEVEL=PHB")
    assert said(gpus.judge_links(narrow, pairs, 2)) == (
        State.WARN,
        "3 pairs: SYS 2, PIX 1; GPUs on 2 NUMA nodes; NCCL_P2P_LEVEL = PHB keeps 2 of them from direct access",
    )
    assert said(gpus.judge_links(rig(), pairs, 1))[0] is State.OK
    assert said(gpus.judge_links(no_level, pairs, 1))[0] is State.NOTE
    assert said(gpus.judge_links(rig("h200x2"), {"0-1": "NV18"}, 1)) == (State.OK, "1 pairs: NV18 1")


def test_errors_of_the_driver() -> None:
    log = "NVRM: Xid (PCI:0000:61:00): 79, pid=1, GPU has fallen off the bus."
    assert said(gpus.judge_errors(log))[0] is State.WARN
    assert said(gpus.judge_errors("nothing")) == (State.OK, "no Xid in the kernel log")


def test_the_same_of_several_gpus_is_said_once() -> None:
    told = [Remark.warn(f"GPU {i} may draw 450 W", f"nvidia-smi -i {i} -pl 600") for i in (0, 1, 5)]
    found = only(gpus.alike_together(told))
    assert (found.found, found.do) == ("GPU 0, 1, 5 may draw 450 W", "nvidia-smi -i 0,1,5 -pl 600")


# --- software --------------------------------------------------------------------------------------------------------


def test_versions_that_the_gate_does_not_know() -> None:
    assert said(software.judge_known("0.5.23"))[0] is State.OK
    assert said(software.judge_known("main-abc"))[0] is State.WARN
    found = said(software.judge_known("0.9.0"))
    assert found[0] is State.NOTE
    assert "has not been read" in found[1]


def test_kernels_of_another_version() -> None:
    wants = {"torch": "2.8.0", "sgl-kernel": "0.3.9", "flashinfer-python": "0.4.0rc3"}
    has = {
        "package.torch": "2.8.0+cu128",
        "package.sgl_kernel": "sgl-kernel 0.3.4",
        "package.flashinfer": "flashinfer-python 0.4.0rc3",
    }
    assert said(software.judge_packages(wants, has, cpu=False)) == (
        State.WARN,
        "sgl_kernel: sgl-kernel 0.3.4, SGLang asks for 0.3.9",
    )
    assert said(software.judge_packages(wants, has, cpu=True))[0] is State.NOTE
    has["package.sgl_kernel"] = "sgl-kernel 0.3.9"
    assert said(software.judge_packages(wants, has, cpu=False))[0] is State.OK


def test_an_argument_that_the_installed_version_does_not_have_is_refused_for_sure() -> None:
    wrong = rig("sim-8gpu", "server.args.tp_sizee=8")
    found = [r for r in arguments.judge_arguments(wrong, "0.5.23") if r.state is State.FAIL]
    assert "server.args.tp_sizee: no SGLang known here takes --tp-sizee" in only(found).found
    # Of a version that nobody has listed it may be right.
    assert [r.state for r in arguments.judge_arguments(wrong, "0.6.1")] == [State.WARN]
    assert said(arguments.judge_arguments(rig("sim-8gpu"), "0.5.23"))[0] is State.OK


def test_what_sglangs_own_parser_says() -> None:
    answer: dict[str, Any] = {"refused": {}, "missing": None, "broke": None}
    assert said(arguments.judge_parsed(answer, 3)) == (
        State.OK,
        "its own parser takes the lines of all 3 arms",
    )
    refused = {"baseline": "unrecognized arguments: --x 1", "eagle3": "unrecognized arguments: --x 1"}
    assert said(arguments.judge_parsed({**answer, "refused": refused}, 2)) == (
        State.FAIL,
        "its parser refuses the line of baseline, eagle3: unrecognized arguments: --x 1",
    )
    assert said(arguments.judge_parsed({**answer, "missing": "sgl_kernel"}, 2))[0] is State.FAIL
    assert said(arguments.judge_parsed({**answer, "broke": "RuntimeError: no driver"}, 2))[0] is State.UNKNOWN


def test_variables_that_nothing_reads() -> None:
    found = said(arguments.judge_variables(small_rig(), ["SGLANG_SIMULATE_ACC_LENGTH"], "0.5.23"))
    assert found == (
        State.WARN,
        "no file of SGLang 0.5.23 mentions SGLANG_SIMULATE_ACC_LENGTH: it has no effect",
    )
    assert said(arguments.judge_variables(small_rig(), None, "0.5.23"))[0] is State.UNKNOWN
    assert said(arguments.judge_variables(small_rig(), [], "0.5.23"))[0] is State.OK


# --- models ----------------------------------------------------------------------------------------------------------

WHOLE = ModelFolder(
    path="/models/target",
    here=True,
    config=ModelConfig(architectures=("LlamaForCausalLM",), dtype="bfloat16", layers=32),
    weight_bytes=16 << 30,
    weight_files=4,
    tokenizer_files=("tokenizer.json",),
)


@pytest.mark.parametrize(
    ("changes", "state", "words"),
    [
        ({}, State.OK, "/models/target: LlamaForCausalLM, bfloat16, 16.0 GiB in 4 files, 32 layers"),
        (
            {"here": False, "why": "No such file or directory"},
            State.FAIL,
            "/models/target: no such file or directory",
        ),
        (
            {"config": None, "why_no_config": "no"},
            State.FAIL,
            "/models/target has no config.json that can be read: no",
        ),
        (
            {"missing_files": ("model-2.safetensors",)},
            State.FAIL,
            "/models/target lacks files of its weights: model-2",
        ),
        ({"weight_bytes": None}, State.FAIL, "/models/target has a config.json and no weights"),
        ({"tokenizer_files": ()}, State.FAIL, "/models/target has no tokenizer"),
        (
            {"config": ModelConfig(own_code=True)},
            State.FAIL,
            "/models/target brings Python files of its own (auto_map)",
        ),
        (
            {"path": "meta-llama/Llama", "here": False},
            State.WARN,
            "meta-llama/Llama is a name on a hub: the first start",
        ),
    ],
)
def test_a_models_folder(changes: dict[str, Any], state: State, words: str) -> None:
    folder = WHOLE.model_copy(update=changes)
    found = said(
        models.judge_folder(folder, key="server.model_path", simulated=False, rig=small_rig(), draft=False)
    )
    assert found[0] is state
    assert found[1].startswith(words)


def test_a_name_on_a_hub_with_the_server_kept_offline() -> None:
    folder = WHOLE.model_copy(update={"path": "meta-llama/Llama", "here": False})
    kept = load_rig("sglang-cpu", root=ROOT)
    found = said(models.judge_folder(folder, key="server.model_path", simulated=False, rig=kept, draft=False))
    assert found[1].startswith("meta-llama/Llama is a name on a hub, and the rig keeps the server offline")


def test_dummy_weights_are_named() -> None:
    dummy = rig("sglang-cpu", "server.args.load_format=dummy")
    found = said(models.judge_folder(WHOLE, key="server.model_path", simulated=False, rig=dummy, draft=False))
    assert found == (State.WARN, "load_format is dummy: weights are random, and acceptance says nothing")


# --- settings, what is stored, the client ----------------------------------------------------------------------------


def case(folder: Path, of: Rig) -> Case:
    return Case(of, root=folder, reports=folder / "reports", host=None, why_no_host="no host")


def test_advice_of_the_rig(tmp_path: Path) -> None:
    few = rig("sim-8gpu", "workloads.single.repeats=2")
    assert said(settings.advice(case(tmp_path, few)))[0] is State.NOTE
    assert said(settings.advice(case(tmp_path, rig("sim-8gpu"))))[0] is State.OK


def test_limits_that_a_healthy_server_would_break() -> None:
    short = rig("sim-8gpu", "workloads.single.timeout_s=1")
    assert said(settings.judge_limits(short, {})) == (
        State.FAIL,
        "workload single gives 128 tokens 1 s: at the 86.1 tok/s of its budget they take 1 s, and every generation is timed out",
    )
    assert said(settings.judge_limits(rig("sim-8gpu"), {"01-baseline": 1200.0, "02-x": 3.0})) == (
        State.FAIL,
        "01-baseline is likely to take 20 min, and the supervisor stops a server after 15 min",
    )
    assert said(settings.judge_limits(rig("sim-8gpu"), {"01-baseline": 30.0}))[0] is State.OK


def test_weights_that_take_longer_than_a_start_may() -> None:
    assert said(fitting.judge_loading(rig(), 595 * 10**9)) == (
        State.OK,
        "595.0 GB in server.start_timeout_s = 1800 s: 331 MB/s are enough",
    )
    slow = rig("kimi-k2.5-8gpu", "server.start_timeout_s=120")
    assert said(fitting.judge_loading(slow, 595 * 10**9))[0] is State.WARN


def test_nothing_is_stored(tmp_path: Path) -> None:
    found = said(stored.compared(case(tmp_path, small_rig())))
    assert found == (
        State.WARN,
        "nothing is stored for small: what stays within the rig's own limits ends with exit 12, no-baseline",
    )
    assert said(stored.selftest(case(tmp_path, small_rig())))[0] is State.NOTE


def test_a_damaged_baseline_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "baselines/small").mkdir(parents=True)
    (tmp_path / "baselines/small/0123456789ab.json").write_text("{")
    found = only(stored.compared(case(tmp_path, small_rig())))
    assert (found.state, found.found[:7]) == (State.FAIL, "no JSON")
    assert found.do is not None
    assert "git checkout" in found.do


def test_a_damaged_history(tmp_path: Path) -> None:
    path = history_path(tmp_path / "reports", "small")
    path.parent.mkdir(parents=True)
    path.write_text("{}\n")
    assert said(stored.history(case(tmp_path, small_rig())))[0] is State.WARN
    path.unlink()
    assert said(stored.history(case(tmp_path, small_rig())))[0] is State.NOTE


def test_plugins_that_are_missing_or_too_old() -> None:
    required = ["pytest<10,>=8.3", "pytest-html<5,>=4.1", 'mypy>=2; extra == "dev"']
    assert said(client.judge_plugins(required, {"pytest": "9.0", "pytest-html": "4.2"}))[0] is State.OK
    assert said(client.judge_plugins(required, {"pytest": "7.4", "pytest-html": None})) == (
        State.FAIL,
        "pytest 7.4, wanted <10,>=8.3; pytest-html is not installed",
    )


def test_where_reports_go(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    blocked = Case(small_rig(), root=tmp_path, reports=tmp_path / "file" / "reports", host=None)
    assert said(client.reports(blocked))[0] is State.FAIL


def test_a_client_that_is_too_slow() -> None:
    assert said(client.judge_headroom(10_000, (9_000, "budget 140 tok/s x 64"))) == (
        State.FAIL,
        "10,000 events/s keep one core busy, 70% of that may be used; up to 9,000 are expected (budget 140 tok/s x 64): the client would be the limit",
    )
    assert said(client.judge_headroom(40_000, (9_000, "budget")))[0] is State.OK
    assert said(client.judge_headroom(40_000, None))[0] is State.OK
    assert client.needed(ROOT, rig("h200")) == (310.0, "budget 310 tok/s x 1")
    assert said(client.judge_busy(9.0, 2))[0] is State.WARN
    assert said(client.judge_busy(0.5, 2))[0] is State.OK


def test_how_long_a_gate_takes_is_told_before_the_first_one(tmp_path: Path) -> None:
    found = said(client.length(case(tmp_path, rig("sglang-cpu"))))
    assert found[0] is State.OK
    assert found[1].startswith("-m eagle3 starts 6 servers, which may take ")


def test_secrets_of_the_rig_are_known_before_anything_is_read() -> None:
    from tokgate.session.doctor.examine import redactor_of

    known = redactor_of(
        rig("sglang-cpu", "server.environment.HF_TOKEN=hf_abcdefgh", "host.environment.MY_SECRET=sk-12345678")
    )
    told = known.clean(json.dumps({"a": "hf_abcdefgh", "b": "sk-12345678"}))
    assert "hf_abcdefgh" not in told
    assert "sk-12345678" not in told
