"""The probe in a process of its own, found on PYTHONPATH as SGLang finds it: whatever goes wrong, the server goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

PROBE = Path(__file__).parents[2] / "probe"
STANDIN = Path(__file__).parent / "standin"
CYCLES = 50


def serve(
    out: Path | None,
    *,
    role: str = "scheduler",
    tree: Path = STANDIN,
    limit: str | None = None,
    kill: bool = False,
    **more: str,
) -> subprocess.CompletedProcess[str]:
    """Run the stand-in's cycles and end it; fails when it did not come through them."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": f"{tree}:{PROBE}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TOKGATE_MARK": "run/01",
        **({"TOKGATE_PROBE_OUT": str(out)} if out else {}),
        **more,
    }
    argv = [sys.executable, "-s", str(tree / "server.py"), role, str(CYCLES)]
    if limit:
        argv = ["sh", "-c", f'ulimit {limit}; exec "$0" "$@"', *argv]
    with subprocess.Popen(
        argv,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        ran = process.stdout.readline()
        if kill:
            process.send_signal(signal.SIGKILL)
        _, errors = process.communicate("\n", timeout=30)
    assert ran == f"ran {CYCLES if role == 'scheduler' else 0}\n", errors
    assert process.returncode == (-signal.SIGKILL if kill else 0), errors
    return subprocess.CompletedProcess(argv, process.returncode, ran, errors)


def lines(out: Path) -> list[Any]:
    (file,) = out.iterdir()
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_each_cycle_is_there_with_its_phases(tmp_path: Path) -> None:
    serve(tmp_path)
    header, *calls, end = lines(tmp_path)
    assert header["rank"] == 3
    assert header["ranks"] == {"tp": 3, "pp": None, "dp": None, "gpu": 5}
    assert (header["mark"], header["clock"], header["sglang"]) == ("run/01", "host", "0.5.23")
    assert "verify sglang.srt.speculative.eagle_worker_v2.EAGLEWorkerV2.verify" in header["hooked"]
    assert "sglang.srt.speculative.eagle_worker.EAGLEWorker.verify" in header["missing"]
    assert Counter(phase for phase, *_ in calls) == dict.fromkeys(
        ("draft", "verify", "draft_extend", "step"), CYCLES
    )
    assert {(requests, graph) for _, _, requests, graph, _ in calls} == {(2, 1)}
    assert end == {"end": True, "written": 4 * CYCLES, "dropped": 0}
    step = sum(ms for phase, ms, *_ in calls if phase == "step")
    assert 0 < sum(ms for phase, ms, *_ in calls if phase != "step") < step


@pytest.mark.parametrize("role", ["detokenizer", "scheduler"])
def test_nothing_is_written_by_other_processes_or_unasked(tmp_path: Path, role: str) -> None:
    told = serve(None if role == "scheduler" else tmp_path, role=role)
    assert list(tmp_path.iterdir()) == []
    assert told.stderr == ""


def test_two_probes_on_the_path_count_once(tmp_path: Path) -> None:
    second = tmp_path / "second"
    second.symlink_to(PROBE)
    other = tmp_path / "other" / "again-1.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: again\nVersion: 1\n")
    (other / "entry_points.txt").write_text("[sglang.srt.plugins]\nagain = tokgate_probe:register\n")
    out = tmp_path / "out"
    out.mkdir()
    serve(out, PYTHONPATH=f"{STANDIN}:{PROBE}:{second}:{other.parent}")
    assert lines(out)[-1]["written"] == 4 * CYCLES


def test_a_folder_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    serve(tmp_path / "gone")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_costs_nothing(tmp_path: Path) -> None:
    # SIGXFSZ is ignored by Python: the write fails in the middle of a line, as on a full disk.
    serve(tmp_path, limit="-f 6")
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size == 6 * 512
    assert json.loads(file.read_text(encoding="utf-8").splitlines()[0])["probe"] == 1


def test_no_file_handle_left_costs_nothing(tmp_path: Path) -> None:
    """Taken by another plugin, in place of hundreds of connections."""
    out = tmp_path / "out"
    out.mkdir()
    plugin = tmp_path / "site" / "greedy-1.dist-info"
    plugin.mkdir(parents=True)
    (plugin / "METADATA").write_text("Metadata-Version: 2.1\nName: greedy\nVersion: 1\n")
    (plugin / "entry_points.txt").write_text("[sglang.srt.plugins]\ngreedy = greedy:register\n")
    (tmp_path / "site" / "greedy.py").write_text(
        "import os, sglang.srt.speculative.eagle_worker_v2, tokgate_probe.install\n"
        "kept = []\n"
        "def register():\n"
        "    try:\n"
        "        while True: kept.append(os.open('/dev/null', os.O_RDONLY))\n"
        "    except OSError: pass\n"
    )
    serve(
        out,
        limit="-n 64",
        PYTHONPATH=f"{tmp_path / 'site'}:{STANDIN}:{PROBE}",
    )
    assert list(out.iterdir()) == []


def test_a_killed_server_leaves_what_was_written(tmp_path: Path) -> None:
    serve(tmp_path, kill=True)
    for file in tmp_path.iterdir():  # killed within the first 0.2 s: perhaps nothing yet
        assert '"end"' not in file.read_text(encoding="utf-8")


def test_renamed_methods_are_named(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    out = tmp_path / "out"
    out.mkdir()
    for part in ("srt/plugins", "srt/speculative", "srt/managers", "srt", ""):
        (tree / "sglang" / part).mkdir(parents=True, exist_ok=True)
        (tree / "sglang" / part / "__init__.py").touch()
    for file in ("server.py", "sglang/srt/plugins/__init__.py", "sglang/srt/plugins/hook_registry.py"):
        (tree / file).write_bytes((STANDIN / file).read_bytes())
    (tree / "sglang" / "srt" / "managers" / "tp_worker.py").write_text("import numpy_of_the_future\n")
    (tree / "sglang" / "srt" / "speculative" / "eagle_worker_v2.py").write_text(
        "class EAGLEWorkerV2:\n"
        "    def forward_batch_generation_v3(self, batch): return batch\n"
        "    def __getattr__(self, name): return self.forward_batch_generation_v3\n"
    )
    serve(out, tree=tree)
    header, end = lines(out)
    assert header["hooked"] == []
    assert "none of the names" in header["failed"]
    assert "sglang.srt.speculative.eagle_worker_v2.EAGLEWorkerV2.verify" in header["missing"]
    assert header["broken"] == {
        "sglang.srt.managers.tp_worker.TpModelWorker.forward_batch_generation": (
            "ModuleNotFoundError: No module named 'numpy_of_the_future'"
        )
    }
    assert end["written"] == 0


def test_a_limit_that_is_no_number_is_said_and_nothing_hooked(tmp_path: Path) -> None:
    told = serve(tmp_path, TOKGATE_PROBE_LIMIT_BYTES="much")
    assert "tokgate_probe: not installed: ValueError" in told.stderr
    assert list(tmp_path.iterdir()) == []
