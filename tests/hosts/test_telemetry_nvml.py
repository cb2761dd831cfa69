"""GPUs of this machine watched through NVML: the library is the test's own."""

from __future__ import annotations

import time
from pathlib import Path

from tests.hosts.fake_clocks import ClockedNvml
from tests.hosts.fake_gpus import MIB, FakeGpu, no_nvml
from tests.hosts.telemetry_stand import LIMIT_S, Followed, StandIn, gpu, own_pid, rig, server
from tokgate.hosts.connection import connect
from tokgate.hosts.telemetry import Watch, watch
from tokgate.records.telemetry import GpuRow, HolderRow, HostRow, ProcessRow, TelemetryRow

NOT_SUPPORTED, UNKNOWN = 3, 999


def begun(nvml: object, followed: Followed, *, gpus: int = 1, folder: Path | None = None) -> Watch:
    spec = rig(folder, gpus=gpus, reader="auto")
    return watch(connect(spec.host), spec, server(own_pid()), write=followed, nvml=nvml)


def gpu_rows(rows: list[TelemetryRow]) -> list[GpuRow]:
    return [row for row in rows if isinstance(row, GpuRow)]


def test_every_card_is_asked_five_times_a_second() -> None:
    nvml = ClockedNvml(FakeGpu(processes=[(own_pid(), 1542 * MIB)]), FakeGpu())
    followed = Followed()
    watching = begun(nvml, followed, gpus=2)
    followed.wait_until(lambda rows: len(gpu_rows(rows)) > 6)
    told = watching.end()

    assert tuple(gpu_rows(followed.rows)[0].gpus[1]) == (1, 1980.0, 3201.0, 52.0, 627.4, 100.0, 0)
    (holding,) = next(r for r in followed.rows if isinstance(r, HolderRow)).holders
    assert (holding.gpu, holding.pid, holding.used_mib) == (0, own_pid(), 1542)
    (process,) = (r for r in followed.rows if isinstance(r, ProcessRow))
    assert (process.pid, process.start_ticks, process.ours) == (own_pid(), holding.start_ticks, True)
    assert any(isinstance(r, HostRow) for r in followed.rows)
    assert (told.source, told.problems, told.missing) == ("nvml", (), {})
    assert 4.0 < told.hz["gpus"] < 5.5
    assert nvml.open == 0


def test_nobody_is_an_answer_too() -> None:
    followed = Followed()
    begun(ClockedNvml(FakeGpu()), followed).end()

    assert next(r for r in followed.rows if isinstance(r, HolderRow)).holders == ()


def test_an_older_driver_is_asked_by_the_older_name() -> None:
    nvml = ClockedNvml(FakeGpu(), refuses={"new name": 13})
    nvml.mask = 0x20
    followed = Followed()
    told = begun(nvml, followed).end()

    assert gpu_rows(followed.rows)[0].gpus[0].reasons == 0x20
    assert told.missing == {}


def test_what_a_card_refuses_for_good_is_asked_once() -> None:
    nvml = ClockedNvml(FakeGpu(), refuses={"watts": NOT_SUPPORTED})
    followed = Followed()
    watching = begun(nvml, followed)
    followed.wait_until(lambda rows: len(gpu_rows(rows)) > 3)
    told = watching.end()

    assert {row.gpus[0].watts for row in gpu_rows(followed.rows)} == {None}
    assert told.missing == {"watts": "GPU 0: Not Supported"}
    assert nvml.asked["watts"] == 1
    assert nvml.asked["celsius"] > 3


def test_what_fails_once_is_asked_again_and_told() -> None:
    nvml = ClockedNvml(FakeGpu(), refuses={"sm_mhz": UNKNOWN})
    followed = Followed()
    watching = begun(nvml, followed)
    nvml.refuses.clear()
    followed.wait_until(lambda rows: any(r.gpus[0].sm_mhz == 1980 for r in gpu_rows(rows)))
    told = watching.end()

    assert told.problems == ("GPU 0 does not tell sm_mhz: Not Supported",)


def test_a_driver_that_hangs_holds_nobody_up() -> None:
    nvml = ClockedNvml(FakeGpu())
    followed = Followed()
    watching = begun(nvml, followed)
    followed.wait_until(lambda rows: len(gpu_rows(rows)) > 1)
    nvml.holds.set()
    assert nvml.held.wait(LIMIT_S)
    before = len(gpu_rows(followed.rows))
    began = time.monotonic()
    told = watching.end()
    took = time.monotonic() - began
    nvml.let_go.set()

    assert took < 5
    assert any("the GPU driver hangs" in problem for problem in told.problems)
    assert told.rows["gpus"] <= before + 6


def test_a_library_without_a_driver_leaves_it_to_nvidia_smi(tmp_path: Path) -> None:
    stand_in = StandIn(tmp_path / "bin")
    stand_in.tell(gpus=[gpu(0)], apps=[])
    followed = Followed()
    told = begun(no_nvml(), followed, folder=stand_in.folder).end()

    assert told.source == "nvidia-smi"
    assert told.rows["gpus"] >= 1
    assert "nvidia-smi is asked instead" in told.problems[0]


def test_a_rig_without_gpus_asks_no_library() -> None:
    nvml = ClockedNvml(FakeGpu())
    told = begun(nvml, Followed(), gpus=0).end()

    assert not nvml.asked
    assert told.source == "none"
