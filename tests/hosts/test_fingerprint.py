"""A small venv with something called sglang in it, which must never be imported."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.hosts.fake_gpus import write_nvidia_smi
from tests.sshd import Sshd
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.fingerprint import fingerprint
from tokgate.records import Fingerprint
from tokgate.rig.machine import GpuSpec, HostSpec, ServerSpec
from tokgate.rig.models import ArmSpec, Rig
from tokgate.rig.workload import TokenIdPrompts, WorkloadSpec

FILES = {
    "__init__.py": "raise SystemExit('imported')\n",
    "srt/worker.py": "steps = 2\n",
    "srt/configs/E=1,N=2, x.json": "{}\n",
}


def write_package(home: Path) -> None:
    for name, text in FILES.items():
        path = home / "sglang" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def write_record(home: Path, version: str = "0.5.23", direct_url: object = None) -> None:
    info = home / f"sglang-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: sglang\nVersion: {version}\n")
    rows = []
    for name, text in FILES.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        quoted = f'"sglang/{name}"' if "," in name else f"sglang/{name}"
        rows.append(f"{quoted},sha256={digest},{len(text)}\n")
    (info / "RECORD").write_text("".join(rows) + f"sglang/__pycache__/x.pyc,,\n{info.name}/RECORD,,\n")
    if direct_url is not None:
        (info / "direct_url.json").write_text(json.dumps(direct_url))


class Server:
    """The server's Python, and its site-packages."""

    def __init__(self, folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        self.python = str(folder / "bin" / "python")
        (self.site,) = (folder / "lib").glob("python*/site-packages")


@pytest.fixture
def server(tmp_path: Path) -> Server:
    return Server(tmp_path / "venv")


Take = Callable[..., Fingerprint]


@pytest.fixture
def take(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Take:
    """Take the fingerprint of a rig with that server."""
    monkeypatch.setenv("HOME", str(tmp_path))
    # What the caller has does not reach the server.
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "callers"))
    (tmp_path / "callers").mkdir()
    (tmp_path / "callers" / "sitecustomize.py").write_text("")
    for folder in ("model", "draft"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "config.json").write_text("{}")
        (tmp_path / folder / "model.safetensors").write_bytes(b"0" * 1000)

    def take(
        host: Host | None = None, *, python: str | None = None, gpus: int = 0, **environment: str
    ) -> Fingerprint:
        rig = Rig(
            name="test",
            gpus=GpuSpec(count=gpus),
            server=ServerSpec(
                python=python or server.python, model_path=str(tmp_path / "model"), environment=environment
            ),
            arms=(
                ArmSpec(name="baseline", kind="baseline"),
                ArmSpec(
                    name="eagle3",
                    kind="eagle3",
                    draft_model_path=str(tmp_path / "draft"),
                    num_steps=2,
                    topk=1,
                    num_draft_tokens=3,
                ),
            ),
            prompt_sets={"p": TokenIdPrompts(kind="token-ids", length=4, first_id=1, last_id=9)},
            workloads=(WorkloadSpec(name="single", prompts="p", output_tokens=4, repeats=1),),
        )
        return fingerprint(host or connect(HostSpec(python=sys.executable)), rig)

    return take


def why(found: Fingerprint, key: str) -> str:
    return next(u.why for u in found.unread if u.text == key)


def noted(found: Fingerprint, words: str) -> bool:
    return any(words in note.what for note in found.notes)


def test_an_untouched_wheel_is_clean_and_nothing_is_noted(server: Server, take: Take, tmp_path: Path) -> None:
    write_package(server.site)
    write_record(server.site)
    found = take()
    assert found.facts["sglang.version"] == "0.5.23"
    assert found.facts["sglang.install"] == "wheel"
    assert found.facts["sglang.location"] == str(server.site / "sglang")
    assert (found.facts["sglang.dirty"], found.facts["sglang.changed"]) == ("no", "0")
    assert found.facts["sglang.commit"] is None
    assert "wheel does not tell" in why(found, "sglang.commit")
    assert found.facts["package.torch"] == "not installed"
    server_python = found.facts["server.python"]
    assert server_python is not None
    assert server_python.endswith(server.python)
    assert not noted(found, str(tmp_path))


def test_every_change_to_a_wheel_is_named(server: Server, take: Take) -> None:
    write_package(server.site)
    write_record(server.site)
    (server.site / "sglang/srt/worker.py").write_text("steps = 3\n")
    edited = take()
    (server.site / "sglang/srt/debug.py").write_text("")
    (server.site / "sglang/srt/configs/E=1,N=2, x.json").unlink()
    more = take()
    assert edited.facts["sglang.changed"] == "1: sglang/srt/worker.py"
    assert more.facts["sglang.changed"] == (
        "3: sglang/srt/debug.py, sglang/srt/worker.py, sglang/srt/configs/E=1,N=2, x.json (missing)"
    )
    assert len({edited.facts["sglang.dirty"], more.facts["sglang.dirty"], "no"}) == 3
    assert noted(edited, "1: sglang/srt/worker.py")
    # The same change gives the same hash, so that two runs of one patch compare.
    assert take().facts["sglang.dirty"] == more.facts["sglang.dirty"]


def test_a_wheel_built_from_a_commit_names_it(server: Server, take: Take) -> None:
    write_package(server.site)
    write_record(
        server.site, direct_url={"url": "https://x", "vcs_info": {"vcs": "git", "commit_id": "abc123"}}
    )
    assert take().facts["sglang.commit"] == "abc123"


def commit(folder: Path) -> str:
    git = ["git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@x"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *arguments], check=True)
    return subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()


def test_a_checkout_on_pythonpath_is_named_with_commit_and_changes(take: Take, tmp_path: Path) -> None:
    home = tmp_path / "checkout" / "python"
    write_package(home)
    (home / "sglang" / "_version.py").write_text("__version__ = version = '0.5.24.dev3'\n")
    head = commit(tmp_path / "checkout")
    clean = take(PYTHONPATH=str(home))
    (home / "sglang/srt/worker.py").write_text("steps = 3\n")
    (home / "sglang/new.py").write_text("")
    dirty = take(PYTHONPATH=str(home))
    assert clean.facts["sglang.install"] == "tree"
    assert clean.facts["sglang.version"] == "0.5.24.dev3"
    assert clean.facts["sglang.commit"] == head
    assert (clean.facts["sglang.dirty"], clean.facts["sglang.changed"]) == ("no", "0")
    assert dirty.facts["sglang.commit"] == head
    assert dirty.facts["sglang.changed"] == "2: new.py, srt/worker.py"
    assert dirty.facts["sglang.dirty"] not in {"no", None}
    listed = clean.facts["pythonpath.0"]
    assert listed is not None
    assert listed.startswith(f"{home}: sglang; 3 Python files, ")
    assert listed != dirty.facts["pythonpath.0"]


def test_a_checkout_s_own_config_runs_nothing_where_its_changes_are_told(take: Take, tmp_path: Path) -> None:
    """`git diff` would ask its filters what has changed, `git status` its file system monitor."""
    home, sang = tmp_path / "checkout" / "python", tmp_path / "sang"
    write_package(home)
    (home / ".gitattributes").write_text("*.py filter=evil diff=evil\n")
    commit(tmp_path / "checkout")
    canary = tmp_path / "canary"
    canary.write_text(f"#!/bin/sh\ntouch {sang}\ncat\n")
    canary.chmod(0o755)
    for key in (
        "core.fsmonitor",
        "filter.evil.clean",
        "diff.evil.textconv",
        "diff.evil.command",
        "gpg.program",
    ):
        subprocess.run(["git", "-C", str(tmp_path / "checkout"), "config", key, str(canary)], check=True)
    (home / "sglang/srt/worker.py").write_text("steps = 3\n")
    found = take(PYTHONPATH=str(home))
    assert found.facts["sglang.changed"] == "1: srt/worker.py"
    assert not sang.exists()
    subprocess.run(["git", "-C", str(tmp_path / "checkout"), "diff"], check=True, capture_output=True)
    assert sang.exists(), "as anybody would ask it"


def test_an_editable_install_is_told_from_a_wheel(server: Server, take: Take, tmp_path: Path) -> None:
    home = tmp_path / "checkout" / "python"
    write_package(home)
    head = commit(tmp_path / "checkout")
    write_record(server.site, "0.5.22", {"url": f"file://{home}", "dir_info": {"editable": True}})
    (server.site / "__editable__.sglang.pth").write_text(f"{home}\n")
    found = take()
    assert found.facts["sglang.install"] == "editable"
    assert (found.facts["sglang.version"], found.facts["sglang.commit"]) == ("0.5.22", head)


def test_a_folder_inside_a_foreign_checkout_has_no_commit(take: Take, tmp_path: Path) -> None:
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "x").write_text("x")
    commit(tmp_path / "foreign")
    write_package(tmp_path / "foreign" / "vendored")
    found = take(PYTHONPATH=str(tmp_path / "foreign" / "vendored"))
    assert found.facts["sglang.commit"] is None
    assert "__init__.py" in why(found, "sglang.commit")
    assert found.facts["sglang.dirty"] is None


def test_no_sglang_and_no_python_are_told(take: Take) -> None:
    found = take()
    assert found.facts["sglang.version"] is None
    assert "finds no sglang" in why(found, "sglang.version")
    found = take(python="/no/such/python")
    assert found.facts["sglang"] is None
    assert "No such file" in why(found, "sglang")
    assert found.facts["host.hostname"] == platform.node()


def test_what_debugging_leaves_behind_is_noted(server: Server, take: Take, tmp_path: Path) -> None:
    (server.site / "sitecustomize.py").write_text("x = 1\n")
    (server.site / "trace.pth").write_text("# a comment\nimport os; os.environ['X'] = '1'\n")
    (server.site / "paths.pth").write_text(f"{tmp_path}\n")
    (tmp_path / ".nccl.conf").write_text("# NCCL_DEBUG=INFO\nNCCL_PROTO=Simple\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libnccl-env.so").write_bytes(b"")
    found = take(LD_LIBRARY_PATH=f"/nowhere:{tmp_path / 'lib'}")
    assert noted(found, f"sitecustomize runs in every Python process of the server: {server.site}")
    assert noted(
        found, "trace.pth executes code at every start of Python and belongs to no package: import os;"
    )
    assert noted(found, "~/.nccl.conf fills in what the rig's nccl block leaves unset: NCCL_PROTO=Simple")
    assert noted(found, f"{tmp_path / 'lib' / 'libnccl-env.so'} may answer")
    assert not noted(found, "paths.pth")
    assert found.facts["nccl.~/.nccl.conf"] == "NCCL_PROTO=Simple"
    assert all(note.severity == "note" and note.do for note in found.notes)


def test_a_pth_of_a_package_is_a_fact_and_no_note(server: Server, take: Take) -> None:
    info = server.site / "tracer-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tracer\nVersion: 1.2\n")
    (info / "RECORD").write_text("tracer.pth,,\n")
    (server.site / "tracer.pth").write_text("import os\n")
    found = take()
    assert found.facts["startup.pth.tracer.pth"] is not None
    assert found.facts["startup.pth.tracer.pth"].endswith("of tracer 1.2")
    assert not noted(found, "tracer.pth")


def test_a_pth_that_virtualenv_wrote_is_known_by_its_content(server: Server, take: Take) -> None:
    path = server.site / "_virtualenv.pth"
    path.write_text("import _virtualenv")
    (server.site / "_virtualenv.py").write_text("")
    assert not noted(take(), path.name)
    path.write_text("import _virtualenv_and_more")
    (server.site / "_virtualenv_and_more.py").write_text("")
    (server.site / "_virtualenv.py").unlink()
    assert noted(take(), path.name)


def test_a_module_in_front_of_an_installed_one_is_named(take: Take, tmp_path: Path) -> None:
    (tmp_path / "stubs" / "triton").mkdir(parents=True)
    (tmp_path / "stubs" / "triton" / "__init__.py").write_text("")
    found = take(PYTHONPATH=str(tmp_path / "stubs"))
    assert found.facts["package.triton"] == f"imported from {tmp_path / 'stubs' / 'triton'}"


def test_machine_and_models_are_named(take: Take, tmp_path: Path) -> None:
    found = take()
    assert found.facts["host.hostname"] == platform.node()
    assert found.facts["host.kernel"] == platform.release()
    assert found.facts["host.boot_id"] == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert found.facts["model.config_sha256"] == hashlib.sha256(b"{}").hexdigest()
    weights = found.facts["draft.eagle3.weights"]
    assert weights is not None
    assert weights.startswith("1 files, 1000 bytes, listing ")
    (tmp_path / "model" / "config.json").write_text('{"x": 1}')
    (tmp_path / "draft" / "model.safetensors").rename(tmp_path / "draft" / "other.safetensors")
    other = take()
    assert other.facts["model.config_sha256"] != found.facts["model.config_sha256"]
    assert other.facts["draft.eagle3.weights"] != weights
    (tmp_path / "model" / "config.json").unlink()
    assert "No such file" in why(take(), "model.config_sha256")


def test_everything_unknown_has_its_reason(take: Take) -> None:
    found = take()
    unknown = {key for key, value in found.facts.items() if value is None}
    assert unknown <= {note.text for note in found.unread}


def test_gpus_are_named_by_what_may_slow_them(
    take: Take, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # index to mig.mode.current, in the order in which they are asked for.
    row = (
        "0, NVIDIA H200, GPU-0, 00000000:19:00.0, 590.48, 96.00, 143771, 616, 5, 16, 8, 700.00, 700.00, 700.00,"
        " 1980, 3201, 1980, 3201, Enabled, Default, [N/A], Disabled\n"
    )
    write_nvidia_smi(tmp_path / "bin", gpus=row, apps="| NVIDIA-SMI 590.48   CUDA Version: 13.1     |\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    found = take(gpus=1)
    assert found.facts["gpu.0.name"] == "NVIDIA H200"
    assert found.facts["gpu.0.power.limit"] == "700.00"
    assert found.facts["gpu.0.ecc.mode.current"] == "not told: not available on this card or driver"
    assert found.facts["gpu.cuda"] == "13.1"
    assert noted(found, "GPU 0 runs on 8 of 16 PCIe lanes")
    assert why(found, "gpu.topology")
    write_nvidia_smi(tmp_path / "bin", gpus="No devices were found\n", rc=6)
    assert why(take(gpus=1), "gpu") == "No devices were found"


def test_two_looks_at_one_boot_differ_in_nothing(take: Take) -> None:
    before, after = take().facts, take().facts
    assert before == after
    booted = before["host.booted_at"]
    assert booted is not None
    moment = dt.datetime.strptime(booted, "%Y-%m-%dT%H:%MZ").replace(tzinfo=dt.UTC)
    up = float(Path("/proc/uptime").read_text().split()[0])
    assert abs((dt.datetime.now(dt.UTC) - moment).total_seconds() - up) < 120


@pytest.mark.sshd
def test_it_is_the_same_behind_ssh(sshd: Sshd, server: Server, take: Take) -> None:
    write_package(server.site)
    write_record(server.site)
    found = take(connect(sshd.spec(python=sys.executable)))
    assert found.facts["sglang.version"] == "0.5.23"
    assert found.facts["sglang.dirty"] == "no"
