from __future__ import annotations

from tokgate.parsers.nvidia_smi_topology import read_topology

LEGEND = """
Legend:

  X    = Self
  NV#  = Connection traversing a bonded set of # NVLinks

NIC Legend:

  NIC0: mlx5_0
"""
MATRIX = """\t\x1b[4mGPU0\tGPU1\tGPU2\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m
GPU0\t X \tNV18\tSYS\tPIX\t0-31,64-95\t0\t\tN/A
GPU1\tNV18\t X \tSYS\tNODE\t0-31,64-95\t0\t\tN/A
GPU2\tSYS\tSYS\t X \tSYS\t32-63\t1\t\tN/A
NIC0\tPIX\tNODE\tSYS\t X \t\t\t\t
"""


def test_every_pair_and_what_is_near_to_each_gpu() -> None:
    told = read_topology(MATRIX + LEGEND)
    assert told.devices == ("GPU0", "GPU1", "GPU2", "NIC0")
    assert told.links == {
        "GPU0-GPU1": "NV18",
        "GPU0-GPU2": "SYS",
        "GPU0-NIC0": "PIX",
        "GPU1-GPU2": "SYS",
        "GPU1-NIC0": "NODE",
        "GPU2-NIC0": "SYS",
    }
    assert told.cpus == {"GPU0": "0-31,64-95", "GPU1": "0-31,64-95", "GPU2": "32-63"}
    assert told.numa == {"GPU0": "0", "GPU1": "0", "GPU2": "1"}
    assert told.unread == ()


def test_one_gpu_alone_has_no_pairs() -> None:
    told = read_topology(
        "\tGPU0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\nGPU0\t X \t0-19\t0\t\tN/A\n" + LEGEND
    )
    assert (told.devices, told.links, told.cpus, told.numa) == (
        ("GPU0",),
        {},
        {"GPU0": "0-19"},
        {"GPU0": "0"},
    )


def test_the_text_changes_when_a_link_does_and_only_then() -> None:
    told = read_topology(MATRIX + LEGEND)
    assert read_topology(MATRIX).text() == told.text()
    assert read_topology(MATRIX.replace("NV18", "NV17")).text() != told.text()
    assert read_topology(MATRIX.replace("32-63\t1", "32-63\t0")).text() != told.text()


def test_two_cells_that_differ_are_no_link() -> None:
    told = read_topology(MATRIX.replace("GPU1\tNV18", "GPU1\tPHB"))
    assert "GPU0-GPU1" not in told.links
    assert told.unread[0].text == "GPU0 GPU1: NV18, PHB"


def test_a_copy_with_blanks_for_tabs_is_read_as_well() -> None:
    told = read_topology(
        "        GPU0    GPU1    CPU Affinity\nGPU0     X      PHB     0-7\nGPU1    PHB      X      0-7\n"
    )
    assert told.links == {"GPU0-GPU1": "PHB"}


def test_what_is_no_matrix_is_told() -> None:
    told = read_topology("Failed to get topology: Not Supported\n")
    assert told.devices == ()
    assert told.unread[0].why == "no header of a matrix"
    torn = read_topology("\tGPU0\tGPU1\nGPU0\t X \t")
    assert (torn.links, torn.unread[0].why) == ({}, "no row of the matrix")
