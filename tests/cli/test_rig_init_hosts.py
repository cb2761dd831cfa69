"""`tokgate rig init` on hosts of every kind: hostile names, behind ssh, simulated, with the real CPU SGLang, at a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli.pretended_host import DRAFT, LLAMA, REPOSITORY, PretendedHost
from tests.sshd import Sshd
from tokgate.rig.load import load_rig

_INJECTION = 'x"\n[server.environment]\nLD_PRELOAD = "evil'


@pytest.fixture
def host(tmp_path: Path) -> PretendedHost:
    return PretendedHost(tmp_path)


@pytest.mark.parametrize(
    "name", [_INJECTION, 'it\'s "quoted" back\\slash # comment Größe 模型 a\tb -rf $(reboot)`x`']
)
def test_a_folder_of_any_name_is_named_as_it_is_and_sets_nothing(host: PretendedHost, name: str) -> None:
    host.gpus(1)
    host.python()
    host.model(name, LLAMA)
    host.model(f"{name} eagle3", DRAFT)
    result = host.init("mybox")
    assert result.exit_code == 0, result.stderr
    rig = load_rig("mybox", root=host.root)
    assert rig.server.model_path == str(host.models / name)
    assert rig.arms[1].draft_model_path == str(host.models / f"{name} eagle3")
    assert rig.server.environment == {}


def test_names_that_no_rig_can_hold_are_no_choice(host: PretendedHost) -> None:
    host.sound()
    for name in ("esc\x1b[2J", "bell\x07", "{root}", "{repository}x"):
        host.model(name, LLAMA, gib=100)
    (host.models / os.fsdecode(b"not-utf8-\xff")).mkdir()
    (host.models / os.fsdecode(b"not-utf8-\xff") / "config.json").write_text(
        '{"architectures": ["LlamaForCausalLM"]}'
    )
    result = host.init("mybox")
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.stderr
    assert load_rig("mybox", root=host.root).server.model_path == str(host.models / "llama-8b")
    refused = host.init("other", "--model", str(host.models / "{root}"), "--draft", "none")
    assert refused.exit_code == 4
    assert "is not read back as it is" in refused.stderr


def test_a_configuration_that_makes_no_sense_ends_nothing(host: PretendedHost) -> None:
    host.sound()
    odd = ("not json", "[]", '{"architectures": "LlamaForCausalLM"}', '{"architectures": [null, 3]}', "[" * 100000,
           '{"architectures": ["LlamaForCausalLM"], "hidden_size": "4096", "vocab_size": -1}', '{"auto_map": 1}')  # fmt: skip
    for number, config in enumerate(odd):
        host.model(f"odd-{number}", config)
    result = host.init("mybox", "--model", str(host.models / "llama-8b"))
    assert result.exit_code == 0, result.stderr
    assert f"{host.models}/odd-0:" in result.stderr  # named among what could not be read


def test_a_gpus_name_and_a_pythons_answer_are_shown_harmless(host: PretendedHost) -> None:
    host.sound()
    host.gpus(1, "NVIDIA \x1b[31mH200\x07")
    host.program("python3", "echo 'boom \x1b[2J' >&2; exit 3", host.home / "evil-env" / "bin")
    result = host.init("mybox")
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.stderr + result.stdout + host.rig_text("mybox")


@pytest.mark.sshd
def test_a_host_behind_ssh_is_asked_there(host: PretendedHost, sshd: Sshd) -> None:
    host.gpus(2)
    python = host.python()
    host.model("llama-8b", LLAMA)
    host.model("llama-8b-eagle3", DRAFT)
    address = f"ssh://{sshd.user}@127.0.0.1:{sshd.port}"
    words = ("--host", address, "--ssh-config", str(sshd.ssh_config), "--python", str(python))
    result = host.init(*words)
    assert result.exit_code == 0, result.stderr
    name = "127.0.0.1"  # after the host
    rig = load_rig(name, root=host.root)
    assert rig.host.testinfra == address
    assert rig.host.ssh_config == str(sshd.ssh_config)
    assert rig.gpus.count == 2
    assert "\ntestinfra" in host.rig_text(name)
    assert "# you: --host" in host.rig_text(name)


def test_the_simulated_box_gives_a_simulated_rig(host: PretendedHost) -> None:
    if not (REPOSITORY / "simbox").is_dir():
        pytest.skip("no simbox/")
    result = host.init("mine", "--from", "sim-8gpu", "--yes", here=False)
    assert result.exit_code == 0, result.stderr
    assert "SIMULATED" in result.stderr
    assert "mine: ok, SIMULATED" in result.stdout
    rig = load_rig("mine", root=host.root)
    known = load_rig("sim-8gpu", root=host.root)
    assert rig.simulated
    assert rig.gpus.count == 8
    assert rig.server.args == known.server.args
    assert rig.server.nccl == known.server.nccl
    assert rig.arms == known.arms
    assert rig.workloads == known.workloads
    assert all(b.break_even_margin is not None for b in rig.budgets)  # no number of another host


@pytest.mark.engine
def test_the_real_sglang_for_the_cpu_gives_a_cpu_rig(host: PretendedHost) -> None:
    root = ("--root", str(REPOSITORY))
    host.program("nvidia-smi", "echo none; exit 9")
    result = host.tokgate(*root, "rig", "init", "cpu-mine", "--yes", "--print", "--path", str(host.bin))
    assert result.exit_code == 0, result.stderr
    rig = tomllib.loads(result.stdout)
    assert rig["gpus"]["count"] == 0
    assert rig["server"]["python"] == "{root}/.sglang-cpu/venv/bin/python"
    assert rig["server"]["environment"]["SGLANG_USE_CPU_ENGINE"] == "1"
    assert "SGLang 0.5.23" in result.stdout
    assert {a.get("draft_model_path") for a in rig["arms"]} == {None, "{root}/.sglang-cpu/golden/draft"}


def test_paths_are_those_of_the_folder_they_were_typed_in(
    host: PretendedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A rig that names them as they were typed would be right in that folder alone."""
    host.sound()
    monkeypatch.chdir(host.home)
    models = os.path.relpath(host.models, host.home)
    more = ("--python", "venv/bin/python3", "--look-in", f"./{models}", "--model", f"{models}/llama-8b")
    result = host.init("mybox", *more, "--print")
    assert result.exit_code == 0, result.stderr
    rig = tomllib.loads(result.stdout)
    assert rig["server"]["python"] == str(host.home / "venv/bin/python3")
    assert rig["server"]["model_path"] == str(host.models / "llama-8b")
    elsewhere = host.init("mybox", "--host", "ssh://me@box", "--model", "./llama-8b", "--print")
    assert elsewhere.exit_code == 4
    assert "write it from / on" in elsewhere.stderr


def test_at_a_terminal_only_what_the_host_cannot_tell_is_asked(host: PretendedHost) -> None:
    host.sound()
    host.model("llama-70b", LLAMA, gib=140)
    ours, theirs = pty.openpty()
    words = ["--root", str(host.root), "rig", "init", "--path", str(host.bin), "--look-in", str(host.models)]
    program = subprocess.Popen(
        [sys.executable, "-c", "from tokgate.cli.main import main; main()", *words],
        stdin=theirs, stdout=theirs, stderr=theirs, cwd=REPOSITORY,
        env={**os.environ, "HOME": str(host.home), "COLUMNS": "80"},
    )  # fmt: skip
    os.close(theirs)
    os.write(ours, b"2\nmybox\n")
    said = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        said += part
    assert program.wait(60) == 0, said.decode()
    text = said.decode()
    assert text.count("which [1]") == 1  # the model; the draft, the Python and the GPUs are not asked
    assert "name of the rig [" in text
    rig = load_rig("mybox", root=host.root)
    assert rig.server.model_path == str(host.models / "llama-8b")
    assert "you chose it" in host.rig_text("mybox")
