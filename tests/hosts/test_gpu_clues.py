"""What the kernel and an earlier look can tell about GPUs that the driver does not list, and who uses one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosts.fake_gpus import FakeGpu, FakeNvml, no_nvml, row, write_nvidia_smi
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.gpu_clues import Clues, look_for_clues, remember, short_bus_id
from tokgate.hosts.gpu_judgement import judge
from tokgate.hosts.gpu_readout import GpuReadout
from tokgate.hosts.gpus import look_at_gpus
from tokgate.hosts.processes import processes
from tokgate.records import GpuHolder, GpuSeen
from tokgate.rig.machine import GpuSpec, HostSpec

NOBODY: frozenset[tuple[int, int]] = frozenset()


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return connect(HostSpec(python=sys.executable, work_dir=str(tmp_path / "work")))


def seen(index: int, bus: str, allocated: float = 0.0) -> GpuSeen:
    return GpuSeen(
        index=index,
        uuid=f"GPU-{bus}",
        name="H200",
        bus_id=f"00000000:{bus}:00.0",
        allocated_mib=allocated,
        source="nvidia-smi",
    )


class Kernel:
    """Folders as /sys and /proc have them, below a root of our own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "proc").mkdir()

    def card(self, bus: str, *, minor: int | None = None, driver: str | None = "nvidia") -> None:
        device = self.root / "sys/bus/pci/devices" / f"0000:{bus}:00.0"
        device.mkdir(parents=True)
        (device / "vendor").write_text("0x10de\n")
        (device / "class").write_text("0x030200\n")
        if driver:
            (device / "driver").symlink_to(f"../../../bus/pci/drivers/{driver}")
        if minor is not None:
            folder = self.root / "proc/driver/nvidia/gpus" / f"0000:{bus}:00.0"
            folder.mkdir(parents=True)
            (folder / "information").write_text(f"Model: \t\t NVIDIA H200\nDevice Minor: \t {minor}\n")

    def bridge(self, bus: str) -> None:
        self.card(bus)
        (self.root / f"sys/bus/pci/devices/0000:{bus}:00.0/class").write_text("0x068000\n")

    def opens(self, pid: int, *targets: str) -> None:
        folder = self.root / "proc" / str(pid) / "fd"
        folder.mkdir(parents=True)
        for number, target in enumerate(targets):
            (folder / str(number)).symlink_to(target)


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    (tmp_path / "root").mkdir()
    return Kernel(tmp_path / "root")


def test_a_card_on_the_bus_that_the_driver_does_not_list_is_named(host: Host, kernel: Kernel) -> None:
    for bus in ("19", "3b", "4c"):
        kernel.card(bus)
    kernel.card("5d", driver=None)
    kernel.bridge("6e")
    clues = look_for_clues(host, [seen(0, "19"), seen(1, "3B")], (), count=4, root=str(kernel.root))
    assert clues.missing == (
        "0000:4c:00.0 is on the PCI bus, but not listed (kernel driver nvidia)",
        "0000:5d:00.0 is on the PCI bus, but not listed (no kernel driver)",
    )


def test_a_bus_on_which_the_listed_cards_are_not_says_nothing(host: Host, kernel: Kernel) -> None:
    kernel.card("19")
    kernel.card("3b")
    assert look_for_clues(host, [seen(0, "77")], (), count=2, root=str(kernel.root)) == Clues()


def test_a_card_that_was_there_before_is_named_with_its_old_index(host: Host, kernel: Kernel) -> None:
    all_three = [seen(0, "19"), seen(1, "3b"), seen(2, "4c")]
    remember(host, all_three, "2026-11-29T10:00:00+00:00")
    # The driver counts anew what it still finds.
    left = [seen(0, "19"), seen(1, "4c")]
    clues = look_for_clues(host, left, (), count=3, root=str(kernel.root))
    assert clues.missing == ("GPU 1 of 2026-11-29T10:00:00+00:00 (GPU-3b, 00000000:3b:00.0) is gone",)
    (finding,) = judge(GpuReadout(gpus=tuple(left)), (), GpuSpec(count=3), NOBODY, clues)
    assert finding.severity == "unclean"
    assert finding.what.startswith("2 GPUs, the rig says 3 (missing): GPU 1 of 2026")
    # Other cards than those remembered: another machine, of which nothing is known.
    assert look_for_clues(host, [seen(0, "99")], (), count=3, root=str(kernel.root)).missing == ()


@pytest.mark.parametrize(
    "content", ["", "{", '{"at": 7}', "\x00\xff", '{"at": "x", "gpus": [{"index": "y"}]}']
)
def test_nonsense_in_the_memory_is_no_memory(host: Host, kernel: Kernel, content: str) -> None:
    folder = Path(host.spec.work_dir)
    folder.mkdir()
    (folder / "gpus.json").write_text(content, encoding="latin-1")
    assert look_for_clues(host, [seen(0, "19")], (), count=2, root=str(kernel.root)).missing == ()


def test_who_has_the_device_open_is_a_candidate_and_no_more(host: Host, kernel: Kernel) -> None:
    kernel.card("19", minor=1)
    kernel.card("3b", minor=0)
    kernel.opens(
        os.getpid(), "/dev/null", "/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/nvidia0"
    )
    kernel.opens(999_999_999, "/dev/nvidia1")
    gpus = [seen(0, "19"), seen(1, "3b", allocated=1894)]
    clues = look_for_clues(host, gpus, processes(host), count=2, root=str(kernel.root))
    # The number of a device is not the index of its GPU.
    assert clues.openers[0] == ("pid 999999999",)
    assert clues.openers[1][0].startswith(f"pid {os.getpid()} of ")
    assert clues.missing == ()
    holder = GpuHolder(gpu_index=1, pid=None, used_mib=1894, note="no living owner is known")
    (finding,) = judge(GpuReadout(gpus=tuple(gpus)), (holder,), GpuSpec(count=2), NOBODY, clues)
    assert f"only candidates, its device is open in: pid {os.getpid()} of" in finding.what
    assert "999999999" not in finding.what


def test_files_that_cannot_be_seen_are_counted(host: Host) -> None:
    gpu = seen(0, "19", allocated=5)
    holder = GpuHolder(gpu_index=0, pid=None, used_mib=5, note="no living owner is known")
    (finding,) = judge(GpuReadout(gpus=(gpu,)), (holder,), GpuSpec(count=1), NOBODY, Clues(hidden=31))
    assert "the open files of 31 processes could not be seen" in finding.what


def test_clues_are_asked_for_only_on_request(host: Host) -> None:
    remember(host, [seen(0, "19"), seen(1, "3b")], "then")
    nvml = FakeNvml(FakeGpu())
    plain = look_at_gpus(host, GpuSpec(count=2), nvml)[2]
    assert "(missing); there" in plain[0].what


def test_graphics_clients_are_found_in_the_table(host: Host, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "1000"]) as client:
        table = (
            f"| Processes:  |\n|    0   N/A  N/A   {client.pid}      G   /usr/lib/xorg/Xorg       207MiB |\n"
        )
        write_nvidia_smi(tmp_path / "bin", gpus=row(0, 207))
        # Only the bare command draws the table.
        program = tmp_path / "bin" / "nvidia-smi"
        program.write_text(
            program.read_text().replace("case ", f"[ $# = 0 ] && cat {tmp_path}/table && exit\ncase ", 1)
        )
        (tmp_path / "table").write_text(table)
        asked = connect(host.spec.model_copy(update={"path": (str(tmp_path / "bin"),)}))
        _, holders, findings = look_at_gpus(asked, GpuSpec(count=1), no_nvml(), clues=True)
        client.kill()
    assert [(h.pid, h.command, h.used_mib) for h in holders] == [(client.pid, "sleep 1000", 207.0)]
    assert f"held by pid {client.pid} of" in findings[0].what


def test_one_bus_id_in_every_spelling() -> None:
    spellings = ("00000000:3B:00.0", "0000:3b:00.0", " 0x0000:3b:00.0")
    assert {short_bus_id(text) for text in spellings} == {"0000:3b:00.0"}
    assert short_bus_id("0000000F:01:00.0") == "000f:01:00.0"
    assert short_bus_id("nonsense") == "nonsense"


def test_gaps_and_duplicates_are_told() -> None:
    def told(*gpus: GpuSeen, count: int) -> list[str]:
        found = judge(GpuReadout(gpus=gpus), (), GpuSpec(count=count), NOBODY)
        assert {f.severity for f in found} == {"unclean"}
        return [f.what for f in found]

    (gap,) = told(seen(0, "19"), seen(3, "4c"), count=4)
    assert "no GPU has index 1, 2" in gap
    twice = told(seen(0, "19"), seen(1, "19"), count=2)
    assert twice == [
        "2 GPUs in the list have the same uuid GPU-19",
        "2 GPUs in the list have the same bus id 00000000:19:00.0",
    ]
