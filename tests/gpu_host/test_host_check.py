"""A host that is not what the bundle assumes is told so at once, with all that is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from host_check import check, meets, split
from manifest import Part

from .test_bundle import made

HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
GATE = {"gate": Part("gate.tar.xz", "", "", 1)}


def test_this_host_may_run_a_gate_whose_server_is_elsewhere(tmp_path: Path) -> None:
    check(made(GATE, HERE), into=tmp_path, gpus=0, serving=False, disk_gib=0)


def test_another_python_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        check(made(GATE, "3.9"), into=tmp_path, gpus=0, serving=False, disk_gib=0)
    told = capsys.readouterr().err
    assert f"Python {HERE}, and the bundle is for 3.9" in told
    assert "HOST_PYTHON" in told


def test_all_that_is_missing_is_told_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CUDA_HOME", raising=False)
    from dataclasses import replace

    wanting = replace(made(GATE, HERE), assumed=("no-such-torch==2.11.*", "pytest>=1000", "pytest>=8"))
    with pytest.raises(SystemExit):
        check(wanting, into=tmp_path, gpus=2, serving=True, disk_gib=24)
    told = capsys.readouterr().err
    for shortfall in (
        "no no-such-torch==2.11.*",
        "wanted pytest>=1000",
        "none of cc, gcc, clang",
        "0 GPUs",
        "--gate-only",
    ):
        assert shortfall in told
    assert "wanted pytest>=8\n" not in told


@pytest.mark.parametrize(
    ("version", "bound", "is_"),
    [
        ("2.11.0+cu130", "==2.11.*", True),
        ("2.1.0", "==2.11.*", False),
        ("2.12", "==2.11.*", False),
        ("2.5.2", "<3", True),
        ("3.0", "<3", False),
        ("1.26", ">=1.26.0", True),
        ("1.25.9", ">=1.26", False),
        ("3.6.0rc1", ">=3.5", True),
    ],
)
def test_versions_are_compared_as_numbers(version: str, bound: str, is_: bool) -> None:
    assert meets(version, bound) is is_


def test_a_requirement_is_a_name_and_bounds() -> None:
    assert split("numpy>=1.26,<3") == ("numpy", [">=1.26", "<3"])
    assert split("torchvision") == ("torchvision", [])
