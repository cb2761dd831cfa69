"""nvidia-smi's readers never raise, and none makes up numbers, whatever has happened to the text."""

from __future__ import annotations

import math
import time

import pytest

from tests.parsers import test_cgroup, test_nvidia_smi_pmon, test_nvidia_smi_table, test_nvidia_smi_topology
from tests.parsers.mutations import mutated
from tokgate.parsers.cgroup import read_cgroup
from tokgate.parsers.nvidia_smi import read_gpus, read_holders
from tokgate.parsers.nvidia_smi_failure import read_failure
from tokgate.parsers.nvidia_smi_list import read_gpu_list
from tokgate.parsers.nvidia_smi_pmon import read_pmon
from tokgate.parsers.nvidia_smi_table import read_smi_table
from tokgate.parsers.nvidia_smi_topology import read_topology

ROWS = (
    "index, name, uuid, memory.total [MiB], memory.reserved [MiB], memory.used [MiB], memory.free [MiB]\n"
    "0, NVIDIA H200, GPU-0, 143771 MiB, 616 MiB, 0 MiB, 143156 MiB\n"
    "1, NVIDIA H200, GPU-1, [N/A], [Insufficient Permissions], , Not Supported\n"
)
APPS = "gpu_uuid, pid, used_gpu_memory [MiB], process_name\nGPU-0, 10291, 2566 MiB, python3 -c print(1, 2)\n"
TABLE = test_nvidia_smi_table.HEAD + test_nvidia_smi_table.BUSY + test_nvidia_smi_table.CUT
TABLE += test_nvidia_smi_table.PROCESSES + "|    0   N/A  N/A    10309      C   ./gpu_burn       28234MiB |\n"
PMON = (
    test_nvidia_smi_pmon.HEAD
    + "    0      10309     C     99      7      -      -      -      -    gpu_burn\n"
)
TEXTS = (ROWS, APPS, TABLE, PMON, test_nvidia_smi_topology.MATRIX, f"0::/docker/{test_cgroup.ID}\n")
HUGE = "9" * 5000


@pytest.mark.parametrize("seed", range(len(TEXTS)))
def test_no_reader_raises_on_damage(seed: int) -> None:
    for text in mutated(TEXTS[seed].encode(), seed=seed, count=60):
        for gpu in read_gpus(text).gpus:
            numbers = [gpu.total_mib, gpu.used_mib, gpu.reserved_mib, gpu.allocated_mib]
            assert all(n is None or math.isfinite(n) for n in numbers)
        for holder in read_holders(text).holders:
            assert holder.pid is None or holder.pid > 0
        read_failure(text)
        read_smi_table(text)
        read_gpu_list(text)
        read_pmon(text)
        read_topology(text)
        read_cgroup(text)


def test_a_number_out_of_all_bounds_is_no_number() -> None:
    for text in TEXTS:
        for digits in ("10309", "28234", "0", "143771", "GPU0", "18"):
            odd = text.replace(digits, HUGE)
            assert all(g.total_mib is None or g.total_mib < 1e9 for g in read_gpus(odd).gpus)
            read_holders(odd)
            assert all(p.used_mib is None or p.used_mib < 1e13 for p in read_smi_table(odd).processes)
            read_pmon(odd)
            read_topology(odd)
            read_gpu_list(f"GPU {HUGE}: x (UUID: y)\n{odd}")


@pytest.mark.parametrize(
    "line",
    [
        "GPU 0: " + " " * 50_000,
        "  MIG x Device  0:" + " " * 50_000,
        "| Processes: |\n|    0   N/A  N/A   1   C  " + " a" * 20_000,
        "| 0 " + "x " * 20_000 + "| |",
        "0::/slurm" + "/a-" * 20_000,
    ],
)
def test_a_hostile_line_costs_no_more_than_its_length(line: str) -> None:
    began = time.process_time()
    for read in (
        read_gpu_list,
        read_smi_table,
        read_pmon,
        read_topology,
        read_cgroup,
        read_gpus,
        read_holders,
    ):
        read(line)
    assert time.process_time() - began < 5


def test_a_name_cannot_make_rows() -> None:
    """A process may choose its name; a line separator in it must not hide or invent a holder."""
    for separator in ("\x0b", "\x0c", "\x1c", "\x85", "\u2028"):
        text = f"GPU-0, 7, 12 MiB, evil{separator}GPU-0, 8, 0 MiB, good\n"
        holders = read_holders(text, ["gpu_uuid", "pid", "used_memory", "process_name"]).holders
        assert [h.pid for h in holders] == [7]
