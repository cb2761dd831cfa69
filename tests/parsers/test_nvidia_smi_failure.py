from __future__ import annotations

import pytest

from tokgate.parsers.nvidia_smi_failure import SmiFailureKind, read_failure

ROWS = "index, memory.used [MiB]\n0, [Insufficient Permissions]\n1, [GPU is lost]\n2, [Unknown Error]\n"


@pytest.mark.parametrize(
    ("text", "rc", "kind"),
    [
        (
            "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 535.161\n",
            18,
            SmiFailureKind.DRIVER_MISMATCH,
        ),
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure …\n",
            9,
            SmiFailureKind.NO_DRIVER,
        ),
        (
            "Failed to initialize NVML: No supported GPUs were found\nUnable to determine the number of GPUs\n",
            255,
            SmiFailureKind.NO_GPUS,
        ),
        ("No devices were found\n", 6, SmiFailureKind.NO_GPUS),
        ("Failed to initialize NVML: Insufficient Permissions\n", 4, SmiFailureKind.NO_PERMISSION),
        ('Field "memory.reserved" is not a valid field to query.\n', 2, SmiFailureKind.FIELD_UNKNOWN),
        ("Failed to initialize NVML: Unknown Error\n", 255, SmiFailureKind.OTHER),
        # An exit status of 0 does not make a failure an answer, nor rows one of a failed command.
        ("Failed to initialize NVML: Unknown Error\n", 0, SmiFailureKind.OTHER),
        (ROWS, 15, SmiFailureKind.OTHER),
        ("", 127, SmiFailureKind.OTHER),
        ("", None, SmiFailureKind.OTHER),
    ],
)
def test_prose_is_a_failure(text: str, rc: int | None, kind: SmiFailureKind) -> None:
    failure = read_failure(text, rc)
    assert failure is not None
    assert failure.kind is kind
    assert failure.text


@pytest.mark.parametrize(
    "text",
    [
        "Unable to determine the device handle for GPU 0000:0B:00.0: GPU is lost.  Reboot the system to recover\n",
        "   Unable to determine the device handle for GPU 0000:0B:00.0: GPU is lost.  Reboot\n    the system\n",
        "Unable to determine the device handle for GPU0000:0b:00.0: Unknown Error",
        "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error.\n",
        "Unable to determine the device handle for GPU\n0000:0B:00.0: Unknown Error.\n",
    ],
)
def test_a_lost_gpu_is_the_same_in_every_spelling(text: str) -> None:
    failure = read_failure(text, 15)
    assert failure is not None
    assert failure.kind is SmiFailureKind.GPU_LOST
    assert failure.bus_ids == ("0000:0b:00.0",)
    amid_rows = read_failure(ROWS + text, 0)
    assert amid_rows is not None
    assert amid_rows.kind is SmiFailureKind.GPU_LOST


def test_cells_are_no_failures() -> None:
    assert read_failure(ROWS) is None
    assert read_failure("") is None
