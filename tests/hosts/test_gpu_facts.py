"""Facts that stand still, and notes on what slows a GPU."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.gpu_clues import recall
from tokgate.hosts.gpu_facts import gpu_facts
from tokgate.rig.machine import HostSpec

USUAL = {
    "name": "NVIDIA H200",
    "driver_version": "590.48",
    "vbios_version": "96.00",
    "memory.total": "143771",
    "memory.reserved": "616",
    "pcie.link.gen.max": "5",
    "pcie.link.width.max": "16",
    "pcie.link.width.current": "16",
    "power.limit": "700.00",
    "power.default_limit": "700.00",
    "power.max_limit": "700.00",
    "clocks.max.sm": "1980",
    "clocks.max.memory": "3201",
    "clocks.applications.graphics": "1980",
    "clocks.applications.memory": "3201",
    "persistence_mode": "Enabled",
    "compute_mode": "Default",
    "ecc.mode.current": "Enabled",
    "mig.mode.current": "Disabled",
}
TOPOLOGY = """\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\t0-31\t0\t\tN/A
GPU1\tNV18\t X \t32-63\t1\t\tN/A
"""
HEAD = "| NVIDIA-SMI 590.48       Driver Version: 590.48         CUDA Version: 13.1     |\n"

# Answers --query-gpu field by field, and refuses the fields in the file "refused", as the real one does.
PROGRAM = """#!{python}
import sys
from pathlib import Path
folder = Path({folder!r})
asked = sys.argv[1:]
if not asked:
    print((folder / "head").read_text())
elif asked[0] == "topo":
    print((folder / "topo").read_text())
else:
    names = asked[0].partition("=")[2].split(",")
    for name in names:
        if name in (folder / "refused").read_text().split():
            sys.exit(f'Field "{{name}}" is not a valid field to query.')
    for line in (folder / "gpus").read_text().splitlines():
        cells = dict(cell.split("=") for cell in line.split("; "))
        print(", ".join(cells[name] for name in names))
"""


class Box:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "bin").mkdir()
        program = folder / "bin" / "nvidia-smi"
        program.write_text(PROGRAM.format(python=sys.executable, folder=str(folder)))
        program.chmod(0o755)
        self.says(head=HEAD, topo=TOPOLOGY, refused="")
        self.gpus({}, {})
        self.host: Host = connect(
            HostSpec(python=sys.executable, work_dir=str(folder / "work"), path=(str(folder / "bin"),))
        )

    def says(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.folder / name).write_text(text)

    def gpus(self, *changes: dict[str, str]) -> None:
        """One GPU for each, as usual but for these fields."""
        lines = []
        for index, change in enumerate(changes):
            own = {"index": str(index), "uuid": f"GPU-{index}", "pci.bus_id": f"00000000:1{index}:00.0"}
            cells = USUAL | own | change
            lines.append("; ".join(f"{name}={text}" for name, text in cells.items()))
        self.says(gpus="\n".join(lines))

    def notes(self) -> list[str]:
        found = gpu_facts(self.host, 2)[2]
        assert all(note.severity == "note" and note.do for note in found)
        return [note.what for note in found]


@pytest.fixture
def box(tmp_path: Path) -> Box:
    return Box(tmp_path)


def test_a_sound_box_has_facts_and_no_notes(box: Box) -> None:
    facts, unread, notes = gpu_facts(box.host, 2)
    assert (unread, notes) == ({}, ())
    assert facts["gpu.1.uuid"] == "GPU-1"
    assert facts["gpu.0.power.default_limit"] == "700.00"
    assert facts["gpu.0.memory.reserved"] == "616"
    assert (facts["gpu.cuda"], facts["gpu.nvml"]) == ("13.1", "590.48")
    assert facts["gpu.topology.0-1"] == "NV18"
    assert (facts["gpu.1.cpu_affinity"], facts["gpu.1.numa"]) == ("32-63", "1")


def test_what_changes_by_itself_is_no_fact(box: Box) -> None:
    facts = gpu_facts(box.host, 2)[0]
    moving = (
        "temperature",
        "clocks.current",
        "power.draw",
        "gen.current",
        "utilization",
        "memory.used",
        "pstate",
    )
    assert not [key for key in facts if any(word in key for word in moving)]
    assert gpu_facts(box.host, 2)[0] == facts


def test_lanes_that_are_missing_are_noted_and_a_lowered_generation_is_not(box: Box) -> None:
    box.gpus({}, {"pcie.link.width.current": "8"})
    assert box.notes() == ["GPU 1 runs on 8 of 16 PCIe lanes"]
    assert gpu_facts(box.host, 2)[0]["gpu.1.pcie.link.width.current"] == "8"


def test_a_lowered_power_cap_is_noted(box: Box) -> None:
    box.gpus({"power.limit": "450.00"}, {"power.limit": "450.00"})
    assert box.notes() == [
        "GPU 0 may draw 450 W, its default is 700 W",
        "GPU 1 may draw 450 W, its default is 700 W",
    ]


def test_gpus_that_are_not_alike_are_noted(box: Box) -> None:
    box.gpus({}, {"clocks.max.sm": "1755", "ecc.mode.current": "[N/A]"})
    # What a card does not tell is no difference.
    assert box.notes() == ["the GPUs differ in clocks.max.sm: 1980: GPU 0; 1755: GPU 1"]


def test_a_library_of_another_version_than_the_kernel_module_is_noted(box: Box) -> None:
    box.says(head=HEAD.replace("Driver Version: 590.48", "Driver Version: 580.99"))
    assert box.notes() == ["nvidia-smi and its library are of 590.48, the kernel module is of 580.99"]


def test_a_link_that_changed_changes_pair_and_hash(box: Box) -> None:
    before = gpu_facts(box.host, 2)[0]
    box.says(topo=TOPOLOGY.replace("NV18", "SYS"))
    after = gpu_facts(box.host, 2)[0]
    assert {key for key in before if before[key] != after[key]} == {"gpu.topology", "gpu.topology.0-1"}


def test_what_an_older_driver_does_not_know_is_none_with_a_reason(box: Box) -> None:
    box.says(refused="power.default_limit memory.reserved", topo="Unknown command\n", head="")
    facts, unread, notes = gpu_facts(box.host, 2)
    assert notes == ()
    assert facts["gpu.0.power.limit"] == "700.00"
    for key in ("gpu.power.default_limit", "gpu.memory.reserved", "gpu.topology", "gpu.cuda", "gpu.nvml"):
        assert facts[key] is None
        assert unread[key]
    assert "Unknown command" in unread["gpu.topology"]


def test_the_full_set_is_remembered_and_a_partial_one_is_not(box: Box) -> None:
    gpu_facts(box.host, 2)
    box.gpus({})
    gpu_facts(box.host, 2)
    known = recall(box.host)
    assert known is not None
    assert [(g.index, g.uuid, g.bus_id) for g in known.gpus] == [
        (0, "GPU-0", "00000000:10:00.0"),
        (1, "GPU-1", "00000000:11:00.0"),
    ]


def test_no_rows_is_a_fault(box: Box) -> None:
    box.gpus()
    with pytest.raises(HostFault):
        gpu_facts(box.host, 2)
