"""What the reader of the server's Python tells of packages that lie there, without importing any of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tokgate.hosts.scripts import server_python


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A place for packages, in front of all others; every module in it breaks whoever imports it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("sglang", "sglang/srt", "torch"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('imported')\n")
    (tmp_path / "sglang/launch_server.py").write_text("raise SystemExit('imported')\n")
    return tmp_path


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("cuda: Optional[str] = '12.8'\nhip: Optional[str] = None\n", "12.8"),
        ("__version__ = '2.8.0+cpu'\ncuda: Optional[str] = None\n", "none"),
        ("cuda = '11.8'\n", "11.8"),
        ("hip = '6.2'\n", None),
    ],
)
def test_the_cuda_that_torch_is_built_for(site: Path, written: str, told: str | None) -> None:
    (site / "torch/version.py").write_text(written)
    assert server_python.torch_cuda() == told


def test_the_module_that_would_run_is_found_and_not_run(site: Path) -> None:
    assert server_python.source_of("sglang.launch_server") == str(site / "sglang/launch_server.py")
    assert server_python.source_of("sglang.lunch_server") is None
    assert server_python.source_of("no_such_package.x") is None


def test_what_sglang_asks_for_in_one_version_only(site: Path) -> None:
    info = site / "sglang-0.5.9.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.9\n"
        "Requires-Dist: torch==2.9.1\nRequires-Dist: sgl_kernel==0.3.21\nRequires-Dist: flashinfer_python[cu13]==0.6.3\n"
        'Requires-Dist: xgrammar>=0.1\nRequires-Dist: diffusers==0.36; extra == "diffusion"\n'
    )
    assert server_python.requires() == {
        "torch": "2.9.1",
        "sgl-kernel": "0.3.21",
        "flashinfer-python": "0.6.3",
    }


def test_variables_that_no_file_mentions(site: Path) -> None:
    (site / "sglang/srt/environ.py").write_text("SGLANG_SIMULATE_ACC_LEN = EnvFloat(-1)\n")
    names = ["SGLANG_SIMULATE_ACC", "SGLANG_SIMULATE_ACC_LEN", "SGLANG_SIMULATE_ACC_LENGTH"]
    assert server_python.unread(site / "sglang", names, 10.0) == [
        "SGLANG_SIMULATE_ACC",
        "SGLANG_SIMULATE_ACC_LENGTH",
    ]
    # Out of time is no answer.
    assert server_python.unread(site / "sglang", names, -1.0) is None
    assert server_python.unread(None, names, 10.0) is None
