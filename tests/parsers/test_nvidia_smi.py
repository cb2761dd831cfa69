from __future__ import annotations

import pytest

from tokgate.parsers.nvidia_smi import read_gpus, read_holders, read_table

HEADER = "index, name, memory.total [MiB], memory.reserved [MiB], memory.used [MiB], memory.free [MiB]\n"

NO_NUMBERS = [
    "[N/A]",
    "N/A",
    "[Not Supported]",
    "Not Supported",
    "[Insufficient Permissions]",
    "[Requested functionality has been deprecated]",
    "",
]


@pytest.mark.parametrize("spelling", NO_NUMBERS)
def test_no_spelling_of_no_number_is_zero(spelling: str) -> None:
    row = f"0, NVIDIA Some Card, {spelling}, {spelling}, {spelling}, {spelling}\n"
    (gpu,) = read_gpus(HEADER + row).gpus
    assert (gpu.total_mib, gpu.reserved_mib, gpu.used_mib, gpu.allocated_mib) == (None, None, None, None)
    assert gpu.name == "NVIDIA Some Card"
    assert [note.text.partition(":")[0] for note in gpu.unread] == [
        "memory.total",
        "memory.reserved",
        "memory.used",
        "memory.free",
    ]


def test_none_is_a_real_value() -> None:
    (row,) = read_table("gpu_recovery_action, fan.speed [%]\nNone, 31 %\n").rows
    assert row["gpu_recovery_action"].text == "None"
    assert row["gpu_recovery_action"].why is None
    assert (row["fan.speed"].number, row["fan.speed"].unit) == (31.0, "%")


@pytest.mark.parametrize(
    ("numbers", "allocated", "used"),
    [
        pytest.param("143771, 614, 0, 143156", 0.0, 614.0, id="idle: used leaves the reserve out"),
        pytest.param("143771 MiB, 614 MiB, 32362 MiB, 110796 MiB", 32362.0, 32976.0, id="busy, with units"),
        pytest.param("81920, 600, 700, 81220", 100.0, 700.0, id="used holds the reserve"),
        pytest.param("81920, 600, 599, 81321", 0.0, 599.0, id="rounded below the reserve"),
        pytest.param("81920, 600, 700, 4000", None, None, id="adds up in no convention"),
        pytest.param("16384, [N/A], 12, 16372", 12.0, None, id="a driver that does not tell the reserve"),
        pytest.param("97887, [N/A], 0, 97240", 0.0, None, id="the gap is what a driver keeps"),
        pytest.param("97887, [N/A], 0, 1000", None, None, id="the gap is more than a driver keeps"),
        pytest.param("97887, [N/A], 96887, 97887", None, None, id="more than there is"),
        pytest.param("97887, 614, -5, 97278", None, None, id="used below zero"),
        pytest.param("97887, -614, 0, 97278", 0.0, None, id="reserve below zero"),
        pytest.param("[N/A], 614, 0, [N/A]", 0.0, 614.0, id="no total to check with"),
    ],
)
def test_allocated_memory_is_used_without_the_drivers_reserve(
    numbers: str, allocated: float | None, used: float | None
) -> None:
    (gpu,) = read_gpus(f"{HEADER}0, NVIDIA H200, {numbers}\n").gpus
    assert gpu.allocated_mib == allocated
    assert gpu.used_mib == used


def test_an_answer_without_header_is_read_by_the_fields_asked_for() -> None:
    fields = ["gpu_name", "index", "uuid", "driver_version", "pci.bus_id", "memory.used", "mig.mode.current"]
    reading = read_gpus(
        "NVIDIA A, 0, GPU-0, 590.48, 00000000:03:00.0, 0, Disabled\n"
        "NVIDIA A, 1, GPU-1, 590.48, 00000000:83:00.0, 12, Enabled\n",
        fields,
    )
    assert [(g.index, g.uuid, g.name, g.allocated_mib, g.mig) for g in reading.gpus] == [
        (0, "GPU-0", "NVIDIA A", 0.0, False),
        (1, "GPU-1", "NVIDIA A", 12.0, True),
    ]
    assert reading.bus_ids == {0: "00000000:03:00.0", 1: "00000000:83:00.0"}
    assert reading.drivers == ("590.48",)


def test_lines_that_are_no_rows_are_told() -> None:
    reading = read_gpus(HEADER + "0, A, 1, 0, 0, 1\nUnable to do something\n\n1, A, 1, 0\n")
    assert [gpu.index for gpu in reading.gpus] == [0]
    assert [(note.line, note.why) for note in reading.unread] == [
        (3, "1 cells where 6 were expected"),
        (5, "4 cells where 6 were expected"),
    ]
    assert read_gpus("").unread


def test_an_amount_below_zero_is_told_as_unread() -> None:
    (gpu,) = read_gpus(f"{HEADER}0, NVIDIA H200, 97887, 614, -5, 97278\n").gpus
    assert [(note.text, note.why) for note in gpu.unread] == [("memory.used: -5", "below zero")]
    (holder,) = read_holders("gpu_uuid, pid, used_gpu_memory [MiB]\nGPU-0, 7, -5\n").holders
    assert (holder.pid, holder.used_mib) == (7, None)


def test_a_flood_is_cut_and_told() -> None:
    rows = "".join(f"GPU-0, {pid}, 12 MiB, x\n" for pid in range(1, 100_001))
    reading = read_holders("gpu_uuid, pid, used_gpu_memory [MiB], process_name\n" + rows)
    assert len(reading.holders) == 512
    assert [(note.text, note.why) for note in reading.unread] == [
        ("100000 lines", "a flood: only the first 512 were read")
    ]
    noise = read_gpus(HEADER + "noise\n" * 300)
    assert len(noise.unread) == 21
    assert noise.unread[-1].text == "280 more"


def test_holders_are_named_with_their_gpu() -> None:
    reading = read_holders(
        "gpu_uuid, pid, used_gpu_memory [MiB], process_name\n"
        "GPU-1, 10291, 2566 MiB, /usr/bin/python3\n"
        "GPU-0, 10293, [N/A], [Not Found]\n"
        "GPU-0, [N/A], 1542 MiB, \n"
        "GPU-9, 7, 1 MiB, python -c print(1, 2, 3)\n",
        index_of={"GPU-0": 0, "GPU-1": 1},
    )
    assert [(h.gpu_index, h.pid, h.used_mib, h.command) for h in reading.holders] == [
        (1, 10291, 2566.0, "/usr/bin/python3"),
        (0, 10293, None, None),
        (0, None, 1542.0, None),
        (None, 7, 1.0, "python -c print(1, 2, 3)"),
    ]
    assert reading.holders[2].note == "the driver does not name the process"
    assert reading.unread == ()


def test_accounting_rows_hold_nothing() -> None:
    reading = read_holders(
        "gpu_uuid, pid, max_memory_usage [MiB], time [ms]\nGPU-0, 10526, 818 MiB, 39376 ms\n"
    )
    assert reading.holders == ()
    assert "has ended" in reading.unread[0].why
