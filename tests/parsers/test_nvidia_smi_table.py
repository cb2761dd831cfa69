from __future__ import annotations

import pytest

from tokgate.parsers.nvidia_smi_table import read_smi_table

HEAD = """Fri Jul  3 22:11:09 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 590.48.01              Driver Version: 590.40.02      CUDA Version: 13.1     |
+-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
"""
BUSY = """|   0  NVIDIA H200 NVL             On  |   00000000:19:00.0 Off |                    0 |
| N/A   52C    P0            628W /  700W |   32362MiB / 143771MiB |    100%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
"""
UNIFIED = """|   1  NVIDIA GB10                    Off |   0000000F:01:00.0 Off |                  N/A |
| N/A   36C    P8              3W /  N/A  | Not Supported          |      0%      Default |
|                                         |                        |                  N/A |
"""
CUT = """|   2  NVIDIA H100 80GB HBM3          On  |   00000000:00:09.0 Off |                   On |
| N/A   52C    P0            432W /  700W |   11125MiB /  81559MiB |     N/A      Default |
|                                         |                        |              Enabled |
+-----------------------------------------+------------------------+----------------------+

| MIG devices:                                                                            |
| GPU  GI  CI  MIG |              Shared Memory-Usage |        Vol|        Shared         |
|  2    2   0   0  |           11091MiB / 40448MiB    | 60      0 |  3   0    3    0    3 |
|                  |               0MiB / 24739MiB    |           |                       |
|  2    3   0   1  |              17MiB / 20096MiB    | 32      0 |  2   0    2    0    2 |
"""
PROCESSES = """
| Processes:                                                                              |
|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |
|        ID   ID                                                               Usage      |
|=========================================================================================|
"""


def test_the_head_tells_library_and_kernel_module_apart() -> None:
    table = read_smi_table(HEAD)
    assert (table.tool, table.driver, table.cuda) == ("590.48.01", "590.40.02", "13.1")
    newer = read_smi_table("| NVIDIA-SMI 600.10     KMD Version: 600.09     CUDA UMD Version: 14.0     |")
    assert (newer.tool, newer.driver, newer.cuda) == ("600.10", "600.09", "14.0")
    # A driver without CUDA prints N/A; old ones had no such word at all.
    assert read_smi_table("| NVIDIA-SMI 390.1   Driver Version: 390.1   CUDA Version: N/A |").cuda is None


def test_a_gpu_has_what_its_three_lines_say() -> None:
    busy, unified, cut = read_smi_table(HEAD + BUSY + UNIFIED + CUT).gpus
    assert busy.model_dump() == {
        "index": 0,
        "name": "NVIDIA H200 NVL",
        "bus_id": "00000000:19:00.0",
        "persistence": "On",
        "mig": False,
        "temperature_c": 52.0,
        "power_w": 628.0,
        "power_cap_w": 700.0,
        "used_mib": 32362.0,
        "total_mib": 143771.0,
        "utilization": 100.0,
    }
    assert (unified.used_mib, unified.total_mib, unified.power_cap_w, unified.mig) == (None, None, None, None)
    assert (unified.power_w, unified.utilization, unified.bus_id) == (3.0, 0.0, "0000000F:01:00.0")
    assert (cut.mig, cut.utilization, cut.used_mib) == (True, None, 11125.0)
    assert read_smi_table(HEAD + CUT).mig_devices == 2


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            "|    0   N/A  N/A           10309      C   ./gpu burn                            28234MiB |",
            (0, 10309, "C", "./gpu burn", 28234.0),
            id="a blank in the name",
        ),
        pytest.param(
            "|    0    2    0           21180      C   /root/memhog                           2296MiB |",
            (0, 21180, "C", "/root/memhog", 2296.0),
            id="in a MIG instance",
        ),
        pytest.param(
            "|    1   N/A  N/A      3373    C+G   ...irefox/6436/usr/lib/firefox/firefox        173MiB |",
            (1, 3373, "C+G", "...irefox/6436/usr/lib/firefox/firefox", 173.0),
            id="cut name",
        ),
        pytest.param(
            "|    0     31794    C   Unknown Error                                 5371MiB |",
            (0, 31794, "C", None, 5371.0),
            id="old table, a zombie",
        ),
        pytest.param(
            "  3  2505784   sglang::scheduler_DP3_TP3_EP3         100804 MiB",
            (3, 2505784, None, "sglang::scheduler_DP3_TP3_EP3", 100804.0),
            id="condensed by hand",
        ),
        pytest.param(
            "|    0   N/A  N/A      4818      G   [Not Found]                       N/A |",
            (0, 4818, "G", None, None),
            id="no name, no number",
        ),
        pytest.param("|    0   N/A  N/A     36331", (0, 36331, None, None, None), id="torn off"),
    ],
)
def test_a_row_names_a_holder(
    line: str, expected: tuple[int, int, str | None, str | None, float | None]
) -> None:
    table = read_smi_table(PROCESSES + line + "\n")
    (process,) = table.processes
    assert (process.gpu_index, process.pid, process.kind, process.name, process.used_mib) == expected
    assert process.cut == (process.name or "").startswith("...")
    assert table.unread == ()


def test_nobody_is_nobody_and_nonsense_is_told() -> None:
    none = read_smi_table(PROCESSES + "|  No running processes found                              |\n+---+\n")
    assert (none.processes, none.unread) == ((), ())
    odd = read_smi_table(PROCESSES + "|    0   N/A  N/A   what |\n")
    assert odd.processes == ()
    assert odd.unread[0].why == "no row of a process"
    assert read_smi_table("") == read_smi_table("No devices were found\n")
