"""Allocated memory from recorded answers: what the first version of the call says is never believed."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.hosts.fake_gpus import FakeGpu, FakeNvml, FakeNvmlError, row, write_nvidia_smi
from tests.hosts.recorded_nvml import FOLDER, RecordedNvml
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.gpus import look_at_gpus
from tokgate.hosts.nvml import NvmlUnusable, read_nvml
from tokgate.rig.machine import GpuSpec, HostSpec

MIB = 1024 * 1024


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """A machine on which a nvidia-smi can be put into tmp_path/bin."""
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return connect(HostSpec(python=sys.executable, work_dir=str(tmp_path / "work")))


@pytest.mark.parametrize(
    ("recording", "allocated", "reserved"),
    [
        # An idle H200: version 1 says 615 MiB used, version 2 says 0 used and 615 MiB reserved.
        ("h200_idle", [0.0, 0.0], 615.0625),
        ("h200_serving", [45261.62109375, 45261.62109375], 615.0625),
        ("h200_just_killed", [1.0, 0.0], 615.0625),
        ("a100_used_holds_the_reserve", [7.8], 912.0),
        ("gb10_unified", [None], None),
    ],
)
def test_allocated_is_used_without_the_reserve(
    recording: str, allocated: list[float | None], reserved: float | None
) -> None:
    nvml = RecordedNvml(recording)
    readout = read_nvml(nvml, limit_s=10)
    found = [g.allocated_mib for g in readout.gpus]
    assert found == [a if a is None else pytest.approx(a, abs=0.01) for a in allocated]
    assert {g.reserved_mib for g in readout.gpus} == {reserved}
    assert set(nvml.versions) == {2}


@pytest.mark.parametrize("recording", ["t4_driver_without_v2", "l4_binding_refused"])
def test_without_the_second_version_nvidia_smi_decides(host: Host, tmp_path: Path, recording: str) -> None:
    write_nvidia_smi(tmp_path / "bin", gpus=row(0, 2566))
    gpus, _, findings = look_at_gpus(host, GpuSpec(count=1), RecordedNvml(recording))
    assert [(g.allocated_mib, g.source) for g in gpus] == [(2566.0, "nvidia-smi")]
    assert "2566 MiB are allocated" in findings[0].what


@pytest.mark.parametrize("recording", ["t4_driver_without_v2", "l4_binding_refused"])
def test_with_neither_nothing_is_believed(host: Host, recording: str) -> None:
    nvml = RecordedNvml(recording)
    gpus, _, (finding,) = look_at_gpus(host, GpuSpec(count=1), nvml)
    assert gpus == ()
    assert finding.severity == "unknown"
    assert "no nvidia-smi" in finding.what
    assert 1 not in nvml.versions


def test_an_idle_box_is_clean_and_a_serving_one_names_its_owners(host: Host) -> None:
    spec = GpuSpec(count=2)
    assert look_at_gpus(host, spec, RecordedNvml("h200_idle"))[2] == ()
    _, holders, findings = look_at_gpus(host, spec, RecordedNvml("h200_serving"))
    assert [(h.gpu_index, h.pid) for h in holders] == [(0, 760), (1, 761)]
    assert [f.severity for f in findings] == ["unclean", "unclean"]


def test_unified_memory_cannot_be_shown_to_be_empty(host: Host) -> None:
    (finding,) = look_at_gpus(host, GpuSpec(count=1), RecordedNvml("gb10_unified"))[2]
    assert finding.severity == "unknown"
    assert "memory (Not Supported)" in finding.what


def test_every_recording_is_played() -> None:
    # A recording that nobody plays back proves nothing.
    text = Path(__file__).read_text()
    assert all(f'"{path.stem}"' in text for path in FOLDER.glob("*.json"))


@pytest.mark.parametrize("trouble", [AttributeError("nvmlMemory_v2"), TypeError("takes 1 argument")])
def test_a_binding_that_knows_only_the_first_version_is_not_used(trouble: Exception) -> None:
    class Old(FakeNvml):
        def nvmlDeviceGetMemoryInfo(self, handle: int, version: int | None = None) -> Any:  # noqa: N802
            raise trouble

    with pytest.raises(NvmlUnusable, match="only the first memory call"):
        read_nvml(Old(FakeGpu()), limit_s=10)


def test_what_moves_is_kept_with_the_look_where_the_card_tells_it() -> None:
    class Telling(FakeNvml):
        NVML_TEMPERATURE_GPU = 0
        NVML_CLOCK_SM = 1

        def nvmlDeviceGetPciInfo(self, handle: int) -> Any:  # noqa: N802
            return SimpleNamespace(busId=b"00000000:19:00.0")

        def nvmlDeviceGetPowerUsage(self, handle: int) -> int:  # noqa: N802
            return 78_350

        def nvmlDeviceGetTemperature(self, handle: int, sensor: int) -> int:  # noqa: N802
            return 34

        def nvmlDeviceGetClockInfo(self, handle: int, clock: int) -> int:  # noqa: N802
            return 345

        def nvmlDeviceGetCurrPcieLinkGeneration(self, handle: int) -> int:  # noqa: N802
            return 1

        def nvmlDeviceGetCurrPcieLinkWidth(self, handle: int) -> int:  # noqa: N802
            raise FakeNvmlError(self.NVML_ERROR_NOT_SUPPORTED)

    (gpu,) = read_nvml(Telling(FakeGpu()), limit_s=10).gpus
    assert (gpu.bus_id, gpu.power_w, gpu.temperature_c) == ("00000000:19:00.0", 78.35, 34)
    assert (gpu.sm_mhz, gpu.pcie_gen, gpu.pcie_width) == (345, 1, None)
    (silent,) = read_nvml(FakeNvml(FakeGpu()), limit_s=10).gpus
    assert (silent.bus_id, silent.power_w, silent.sm_mhz, silent.allocated_mib) == (None, None, None, 0.0)


def test_a_card_that_hides_whether_it_is_cut_is_not_taken_for_whole(host: Host) -> None:
    class Secretive(FakeNvml):
        def nvmlDeviceGetMigMode(self, handle: int) -> tuple[int, int]:  # noqa: N802
            raise FakeNvmlError(self.NVML_ERROR_NO_PERMISSION, "Insufficient Permissions")

    (finding,) = look_at_gpus(host, GpuSpec(count=1), Secretive(FakeGpu()))[2]
    assert finding.severity == "unknown"
    assert "MIG" in finding.what
