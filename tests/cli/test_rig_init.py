"""`tokgate rig init` as a person meets it: a host is asked, a rig is written that the gate takes."""

from __future__ import annotations

import errno
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.pretended_host import DRAFT, LLAMA, PretendedHost
from tokgate.cli.rig_init_asking import read_gpus
from tokgate.cli.rig_init_choosing import usable_pythons
from tokgate.cli.rig_init_told import nothing_to_run
from tokgate.errors import UsageError
from tokgate.records.inventory import Inventory, PythonSeen
from tokgate.records.record import Unread
from tokgate.rig.load import load_rig


@pytest.fixture
def host(tmp_path: Path) -> PretendedHost:
    return PretendedHost(tmp_path)


def rig_of(host: PretendedHost, name: str = "mybox") -> dict[str, Any]:
    return tomllib.loads(host.rig_text(name))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[PretendedHost, Result]:
    """A host on which nothing is left to ask, and what it was asked."""
    host = PretendedHost(tmp_path_factory.mktemp("sound"))
    host.sound()
    return host, host.init("mybox")


def test_a_sound_host_needs_no_answer(sound: tuple[PretendedHost, Result]) -> None:
    host, result = sound
    assert result.exit_code == 0, result.stderr
    rig = load_rig("mybox", root=host.root)
    assert (rig.gpus.count, rig.gpus.model) == (8, "NVIDIA H200")
    assert rig.server.python == str(host.home / "venv/bin/python3")
    assert rig.server.model_path == str(host.models / "llama-8b")
    assert {a.draft_model_path for a in rig.arms} == {None, str(host.models / "llama-8b-eagle3")}
    assert [(a.num_steps, a.topk, a.num_draft_tokens) for a in rig.arms[1:]] == [(2, 1, 3), (3, 1, 4)]
    assert [w.concurrency for w in rig.workloads] == [1, 4, 16]
    assert rig.budgets == ()
    assert "TO BE SET after the first baseline" in host.rig_text("mybox")
    assert (host.root / "rigs" / "prompts" / "mixed.jsonl").is_file()
    checked = host.tokgate("rig", "check", "mybox", "--strict")
    assert checked.exit_code == 0, checked.stderr
    assert checked.stdout.startswith("mybox: ok")
    for command in (
        "tokgate doctor --rig mybox",
        "-m eagle3 --rig mybox",
        "tokgate baseline update reports/latest",
    ):
        assert command in result.stdout


def test_every_value_that_was_found_says_so(sound: tuple[PretendedHost, Result]) -> None:
    text = " ".join(sound[0].rig_text("mybox").split())
    for said in (
        "count = 8 # asked host: driver 580.95",
        "# asked host: a usual place, SGLang 0.5.16",
        'name = "mybox" # you',
        "tp_size = 1 # asked host: 15.0 GiB of weights, 140 GiB a GPU; the host has 8",
        "tolerance_mib = 0 # default",
        "hidden size 4096 and vocabulary 128256 are the # target's",
    ):
        assert said in text


def test_what_the_host_has_is_told(sound: tuple[PretendedHost, Result]) -> None:
    host, result = sound
    told = " ".join(result.stderr.split())
    assert "8 x NVIDIA H200, 140 GiB, joined by NVLink (NV18); driver 580.95, CUDA 13.0" in told
    assert "SGLang 0.5.16" in told
    assert f"{host.models}/llama-8b-eagle3: of {host.models}/llama-8b" in told


def test_nothing_is_written_over(sound: tuple[PretendedHost, Result]) -> None:
    host, _ = sound
    file = host.root / "rigs" / "mine.toml"
    file.write_text("mine")
    result = host.init("mine")
    assert result.exit_code == 4
    assert "it is there already" in result.stderr
    assert "--force" in result.stderr
    printed = host.init("mine", "--print")
    assert tomllib.loads(printed.stdout)["name"] == "mine"  # and nothing else on stdout
    assert file.read_text() == "mine"
    assert host.init("mine", "--force").exit_code == 0
    assert rig_of(host, "mine")["name"] == "mine"


def test_gpus_behind_pcie_get_a_block_of_nccl_variables_each_with_what_it_is(host: PretendedHost) -> None:
    host.sound()
    host.gpus(8, "NVIDIA RTX PRO 6000", "PHB", 97887)
    host.model("kimi", {**LLAMA, "hidden_size": 7168, "num_attention_heads": 64}, gib=550)
    result = host.init("mybox", "--model", str(host.models / "kimi"), "--draft", "none")
    assert result.exit_code == 0, result.stderr
    server = rig_of(host)["server"]
    assert server["args"]["tp_size"] == 8
    assert server["args"]["disable_custom_all_reduce"] is True
    assert server["nccl"]["NCCL_P2P_LEVEL"] == "SYS"
    block = host.rig_text("mybox").partition("[server.nccl]\n")[2].partition("\n\n")[0].splitlines()
    assert len(block) == 6
    assert sum("# default: " in line for line in block) == 4
    assert [line.split()[1] for line in block[4:]] == [
        "NCCL_BUFFSIZE",
        "NCCL_NTHREADS",
    ]  # with LL they do nothing
    checked = host.tokgate("rig", "check", "mybox", "--strict")
    assert checked.exit_code == 0
    assert "NCCL_" not in checked.stdout  # not even a note: each of them does something


def test_with_nobody_to_ask_an_error_names_the_option(host: PretendedHost) -> None:
    host.sound()
    host.model("llama-70b", LLAMA, gib=140)
    result = host.init("mybox")
    assert result.exit_code == 4
    assert "--model" in result.stderr
    assert str(host.models / "llama-70b") in result.stderr
    assert host.init("mybox", "--yes").exit_code == 0
    assert rig_of(host)["server"]["model_path"] == str(host.models / "llama-70b")
    assert "the first of 2" in host.rig_text("mybox")


def test_a_host_without_a_draft_asks_for_one_or_none(host: PretendedHost) -> None:
    host.gpus(1)
    host.python()
    host.model("llama-8b", LLAMA)
    host.model("other-eagle3", {**DRAFT, "vocab_size": 151936})
    result = host.init("mybox", "--yes")
    assert result.exit_code == 4
    said = " ".join(result.stderr.split())
    assert "its vocabulary has 151936 tokens, the target's 128256" in said
    assert "--draft none" in said
    assert host.init("mybox", "--draft", "none").exit_code == 0
    assert [a["kind"] for a in rig_of(host)["arms"]] == ["baseline"]
    assert host.tokgate("rig", "check", "mybox").exit_code == 0


def test_a_draft_that_does_not_fit_is_taken_and_doubted(host: PretendedHost) -> None:
    host.sound()
    other = host.model("qwen-eagle3", {**DRAFT, "vocab_size": 151936})
    index = '{"weight_map": {"a": "model.safetensors", "b": "model-00002.safetensors"}}'
    (host.models / "llama-8b" / "model.safetensors.index.json").write_text(index)
    result = host.init("mybox", "--draft", str(other))
    assert result.exit_code == 0
    said = " ".join(result.stderr.split())
    assert "the draft is not of this target" in said
    assert "1 files of weights are missing" in said  # a download that has not ended
    assert rig_of(host)["arms"][1]["draft_model_path"] == str(other)


def test_models_of_the_hub_cache_are_found_by_their_newest_snapshot(host: PretendedHost) -> None:
    host.gpus(1)
    host.python()
    for name, config in (("models--meta--Llama-8B", LLAMA), ("models--org--d-eagle3", DRAFT)):
        host.model(f"hub/{name}/snapshots/aaa", config)
        host.model(f"hub/{name}/snapshots/bbb", config)
        (host.models / "hub" / name / "refs").mkdir()
        (host.models / "hub" / name / "refs" / "main").write_text("aaa")
    result = host.init("mybox")
    assert result.exit_code == 0, result.stderr
    rig = rig_of(host)
    assert rig["server"]["model_path"].endswith("models--meta--Llama-8B/snapshots/aaa")
    assert rig["description"].startswith("meta/Llama-8B with EAGLE-3")


def test_a_bare_host_says_what_is_missing_and_what_to_do() -> None:
    """Without a host: on this one a server may run, and then its Python has SGLang."""
    bare = Inventory(
        host="local://", problems=(Unread(text="GPUs", why="there is no nvidia-smi on the path"),)
    )
    said = str(nothing_to_run(bare))
    assert "no GPU (there is no nvidia-smi on the path)" in said
    assert "no SGLang for a CPU in 0 Pythons" in said
    for option in ('--gpus 8x"NVIDIA H200"', "--host ssh://user@host", "--python PATH", "--path FOLDER"):
        assert option in said
    python = PythonSeen(path="/venv/bin/python3", found_by="PATH", sglang="0.5.16", accelerator="cuda 12.8")
    of_gpus = bare.model_copy(update={"pythons": (python,)})
    assert usable_pythons(of_gpus, {}, on_cpu=True) == ()
    assert "SGLang only for GPUs: /venv/bin/python3 (cuda 12.8)" in str(nothing_to_run(of_gpus))


def test_a_host_that_is_not_there_yet_is_described(host: PretendedHost) -> None:
    words = ("--host", "ssh://me@127.0.0.1:1", "--gpus", "8xNVIDIA H200", "--python", "/opt/venv/bin/python3")
    result = host.init("soon", *words, "--model", "/models/t", "--draft", "/models/d", here=False)
    assert result.exit_code == 0, result.stderr
    assert "cannot be reached" in result.stderr
    rig = rig_of(host, "soon")
    assert rig["gpus"]["count"] == 8
    assert rig["gpus"]["model"] == "NVIDIA H200"
    assert "you: --gpus, nobody has seen them" in host.rig_text("soon")
    assert rig["server"]["args"]["tp_size"] == 8
    assert host.tokgate("rig", "check", "soon").exit_code == 0


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ('4x"NVIDIA H100 80GB HBM3"', (4, "NVIDIA H100 80GB HBM3")),
        ("4x'NVIDIA L4'", (4, "NVIDIA L4")),
        ("2 x NVIDIA L4", (2, "NVIDIA L4")),
        ("8", (8, None)),
    ],
)
def test_quotes_that_came_through_the_shell_are_no_part_of_a_gpus_name(
    text: str, read: tuple[int, str | None]
) -> None:
    assert read_gpus(text) == read


@pytest.mark.parametrize("text", ['8x"NVIDIA" H200', '8x""'])
def test_a_quote_within_a_gpus_name_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        read_gpus(text)


def test_a_host_that_cannot_be_reached_is_a_fault_of_the_bench(host: PretendedHost) -> None:
    result = host.init("mybox", "--host", "ssh://me@127.0.0.1:1", here=False)
    assert result.exit_code == 11
    assert "--gpus" in result.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("Big Box",), "small letters"),
        (("mybox", "--host", "ssh://me:secret@box"), "a password in it"),
        (("mybox", "--gpus", "many"), '8x"NVIDIA H200"'),
        (("mybox", "--from", "kimi-k25-8gpu"), "kimi-k2.5-8gpu"),
        (("mybox", "--from", "sim-8gpu", "--host", "ssh://box"), "kimi-k2.5-8gpu"),
        (("mybox", "--mdoel", "/m"), "'--model'"),
    ],
)
def test_what_is_wrong_on_the_line_is_told_before_anything_is_asked(
    host: PretendedHost, words: tuple[str, ...], said: str
) -> None:
    result = host.init(*words, here=False)
    assert result.exit_code == 4
    assert said in result.stderr
    assert "secret" not in result.stderr


def test_an_nvidia_smi_that_fails_is_not_taken_for_a_host_without_gpus(host: PretendedHost) -> None:
    host.sound()
    host.program("nvidia-smi", "echo 'NVIDIA-SMI has failed because of the driver'; exit 9")
    result = host.init("mybox", "--python", "/usr/bin/python3")
    assert result.exit_code == 0, result.stderr
    assert "none told: " in host.rig_text("mybox")
    assert "it has no GPU" not in host.rig_text("mybox")


def test_a_full_disk_leaves_no_half_of_the_prompts(
    host: PretendedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(_source: Path, target: Path) -> None:
        target.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    host.sound()
    monkeypatch.setattr("tokgate.cli.rig_init_writing.shutil.copyfile", half)
    result = host.init("mybox")
    assert result.exit_code == 4
    assert "No space left on device" in result.stderr
    assert [p for p in (host.root / "rigs").rglob("*") if p.is_file()] == []
