"""What a host has that a rig may name: read as it is, and nothing of it changed."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tokgate.hosts.connection import connect
from tokgate.hosts.inventory import Named, take_inventory
from tokgate.records.inventory import Inventory
from tokgate.rig.machine import HostSpec


def look(tmp_path: Path, **named: object) -> Inventory:
    spec = HostSpec(python=sys.executable, path=(str(tmp_path / "bin"),), environment={"HOME": str(tmp_path)})
    return take_inventory(connect(spec), Named(usual=False, **named))  # type: ignore[arg-type]


@contextlib.contextmanager
def running(*words: str) -> Iterator[int]:
    """Run a program whose line is that of a server: the shell, called by another name, that waits for its input."""
    line = ["/venv/bin/python3", "-c", "read x", "-m", "sglang.launch_server", *words]
    with subprocess.Popen(line, executable="/bin/sh", stdin=subprocess.PIPE) as process:
        yield process.pid


def test_a_running_server_tells_its_python_and_models_and_keeps_its_key(tmp_path: Path) -> None:
    words = (
        "--model-path",
        "/m/target",
        "--speculative-draft-model-path=/m/draft",
        "--tp-size",
        "8",
        "--api-key",
        "hush",
    )
    with running(*words) as pid:
        seen = look(tmp_path)
    server = next(s for s in seen.servers if s.pid == pid)
    assert (server.python, server.model_path, server.draft_path, server.tp_size) == (
        "/venv/bin/python3", "/m/target", "/m/draft", 8,
    )  # fmt: skip
    assert "hush" not in seen.model_dump_json()


def test_a_port_that_is_taken_is_not_offered(tmp_path: Path) -> None:
    with socket.socket() as taken:
        for port in range(30000, 30050):
            with contextlib.suppress(OSError):
                taken.bind(("0.0.0.0", port))
                break
        taken.listen()
        seen = look(tmp_path)
    assert port in seen.taken_ports
    assert port not in seen.free_ports
    assert seen.free_ports


def test_a_folder_that_cannot_be_made_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    wanted = (str(tmp_path / "file" / "x"), str(tmp_path / "w"))
    assert look(tmp_path, work_dirs=wanted).work_dir == wanted[1]


def test_the_folder_to_work_in_is_named_and_not_made(tmp_path: Path) -> None:
    seen = look(tmp_path, work_dirs=("~/deep/down",))
    assert seen.work_dir == str(tmp_path / "deep" / "down")
    assert seen.work_dir_free_mib
    assert not (tmp_path / "deep").exists()


def test_an_environment_is_asked_once_by_whatever_name_and_writes_nothing(tmp_path: Path) -> None:
    venv = tmp_path / "my-env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    package = next(venv.glob("lib/python3*/site-packages")) / "sglang"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit('imported')")
    (package / "version.py").write_text('__version__ = "0.5.11"')
    seen = look(tmp_path, pythons=((str(venv / "bin" / "python"), "a test"),))
    mine = [p for p in seen.pythons if p.path.startswith(str(venv))]
    assert [(p.found_by, p.sglang, p.sglang_at) for p in mine] == [("a test", "0.5.11", str(package))]
    assert not list(package.rglob("*.pyc"))


def test_a_python_that_makes_no_sense_is_told_with_its_reason(tmp_path: Path) -> None:
    for name, body in (
        ("a-env", "echo no json"),
        ("b-env", "echo broken >&2; exit 3"),
        ("c-env", "echo '[1]'"),
    ):
        file = tmp_path / name / "bin" / "python3"
        file.parent.mkdir(parents=True)
        file.write_text(f"#!/bin/sh\n{body}\n")
        file.chmod(0o755)
    told = {Path(p.path).parts[-3]: p.why for p in look(tmp_path).pythons if p.path.startswith(str(tmp_path))}
    assert told["b-env"] == "broken"
    assert told["a-env"]
    assert told["c-env"]


def test_models_are_looked_for_so_deep_and_those_of_no_model_left_out(tmp_path: Path) -> None:
    config = json.dumps({"architectures": ["LlamaForCausalLM"], "hidden_size": 8})
    for name in ("m/a", "m/b/c/d", "m/b/c/e/f/g", "m/.hidden/x"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.json").write_text(config)
    (tmp_path / "m" / "web").mkdir()
    (tmp_path / "m" / "web" / "config.json").write_text('{"port": 80}')
    (tmp_path / "m" / "loop").symlink_to(tmp_path / "m")
    seen = look(tmp_path, look_in=((str(tmp_path / "m"), "a test"),))
    assert {m.path.removeprefix(f"{tmp_path}/m/") for m in seen.models} >= {"a", "b/c/d"}
    assert not any("web" in m.path or "hidden" in m.path or m.path.endswith("/g") for m in seen.models)
    assert len({os.path.realpath(m.path) for m in seen.models}) == len(
        seen.models
    )  # a link is no second model
