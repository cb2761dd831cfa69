"""nvidia-smi's table and its topology matrix."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from simbox import MARK
from simbox.smi_gpu import CUDA, FIELDS, Gpu

_LINE = "+-----------------------------------------+------------------------+----------------------+"
_WIDE = "+-----------------------------------------------------------------------------------------+"
_LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
  NV#  = Connection traversing a bonded set of # NVLinks
"""


def table(listed: Sequence[Gpu]) -> str:
    """Print what a bare `nvidia-smi` prints, and below it that nothing of it is real."""
    driver = listed[0].box.scenario.knobs.driver if listed else "N/A"
    lines = [
        datetime.now().astimezone().strftime("%a %b %e %H:%M:%S %Y       "),
        _WIDE,
        f"| NVIDIA-SMI {driver:<22} Driver Version: {driver:<14} CUDA Version: {CUDA:<9}|",
        _LINE,
        "| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |",
        "| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |",
        "|                                         |                        |               MIG M. |",
        _LINE.replace("-", "=").replace("+", "|", 1)[:-1] + "|",
    ]
    for gpu in listed:
        lines += [*_rows(gpu), _LINE]
    lines += [
        "",
        _WIDE,
        "| Processes:                                                                              |",
        "|  GPU   GI   CI              PID   Type   Process name                        GPU Memory |",
        "|        ID   ID                                                               Usage      |",
        "|" + "=" * 89 + "|",
    ]
    apps = [
        f"|  {g.index:>3}   N/A  N/A {a.holder.pid:>15}      C   "
        f"{(a.holder.name if a.state == 'running' else '[Not Found]')[:36]:<36} {a.mib:>6}MiB |"
        for g in listed
        for a in g.processes
    ]
    lines += apps or ["|  No running processes found" + " " * 61 + "|"]
    return "\n".join([*lines, _WIDE, f"({MARK}: no such GPU exists)"]) + "\n"


def _rows(gpu: Gpu) -> list[str]:
    def of(name: str) -> str:
        return FIELDS[name][1](gpu)

    persistence = "On" if of("persistence_mode") == "Enabled" else "Off"
    memory = gpu.memory_words or f"{of('memory.used')}MiB / {of('memory.total')}MiB"
    power = f"{float(of('power.draw')):.0f}W / {float(of('power.limit')):>4.0f}W"
    return [
        f"| {gpu.index:>3}  {of('name')[:26]:<26}    {persistence:>3}  |   {gpu.bus_id} Off |                    0 |",
        (
            f"| N/A  {of('temperature.gpu'):>3}C    {of('pstate'):<2}          {power:>14} |"
            f" {memory:>22} | {of('utilization.gpu'):>6}%      Default |"
        ),
        "|                                         |                        |             Disabled |",
    ]


def topology(listed: Sequence[Gpu]) -> str:
    """Print the matrix: two NUMA nodes, no NVLink."""
    half = (len(listed) + 1) // 2
    rows = [
        "\t" + "\t".join([f"GPU{g.index}" for g in listed] + ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"])
    ]
    for a in listed:
        near = [
            " X " if a is b else "NODE" if (a.index < half) == (b.index < half) else "SYS" for b in listed
        ]
        node = 0 if a.index < half else 1
        rows.append("\t".join([f"GPU{a.index}", *near, f"{node * 64}-{node * 64 + 63}", str(node), "N/A"]))
    return "\n".join(rows) + "\n" + _LEGEND + f"({MARK}: no such GPU exists)\n"
