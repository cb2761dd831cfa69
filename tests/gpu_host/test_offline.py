"""The whole way without a GPU: a bundle for this Python, installed and run where there is no network at all."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import bundle
import collect
import ledger
import pytest

pytestmark = pytest.mark.slow

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
# A network namespace of its own, with nothing in it but a loopback device.
OFFLINE = ("unshare", "--net", "--map-root-user", "sh", "-c", 'ip link set lo up && exec "$@"', "offline")


def test_a_gate_runs_offline_from_an_installed_bundle_and_comes_home(tmp_path: Path) -> None:
    if subprocess.run([*OFFLINE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no network namespaces on this machine")
    folder, out = tmp_path / "bundle", tmp_path / "out"
    bundle.build(folder, HERE, limit_mib=20, server=False)
    command = [
        *(*OFFLINE, str(folder / "run.sh"), "--rig", "sim-8gpu", "--into", str(tmp_path / "into")),
        *("--out", str(out), "--time-limit", "500", "pytest", "--"),
        *("perf_tests/test_clean_slate.py", "perf_tests/test_acceptance_length.py"),
        *("--sim-state", str(tmp_path / "state"), "--rig-set", f"host.work_dir={tmp_path / 'work'}"),
    ]
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": str(tmp_path), "PYTHON": sys.executable}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "SIMULATED" in ended.stdout

    assert collect.collect(out, tmp_path / "home", folder) == ["sim-8gpu-pytest"]
    home = tmp_path / "home" / "sim-8gpu-pytest"
    known = ledger.read(home / ledger.NAME)
    assert known is not None
    (attempt,) = known.attempts
    assert attempt.ended == "done"
    verdict = json.loads(
        (home / "runs" / "pytest" / str(attempt.run) / "verdict.json").read_text(encoding="utf-8")
    )
    assert verdict["outcome"] == "pass"
    run = json.loads((home / "runs" / "pytest" / str(attempt.run) / "run.json").read_text(encoding="utf-8"))
    assert run["tokgate_commit"] == bundle.commit()

    again = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0
    assert "nothing is left to do" in again.stdout
    assert "unpacked" not in again.stdout
