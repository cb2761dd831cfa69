"""What stands against measuring on a GPU, from nvidia-smi's own answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tokgate.errors import HostFault
from tokgate.hosts.connection import Host, connect
from tokgate.hosts.gpu_health import judge_health, judge_persistence, read_health, xids_in
from tokgate.hosts.gpu_rows import Row
from tokgate.parsers.nvidia_smi import Cell
from tokgate.records.doctor import State
from tokgate.rig.machine import HostSpec


def row(index: int = 0, **cells: str | float) -> Row:
    """`cells` with _ for . in their names, the last part told by where it stands."""
    told: Row = {"index": Cell(text=str(index), number=float(index))}
    for name, value in cells.items():
        number = value if isinstance(value, float) else None
        told[_NAMES[name]] = Cell(text=str(value), number=number)
    return told


_NAMES = {
    "errors": "ecc.errors.uncorrected.volatile.total",
    "pending": "remapped_rows.pending",
    "failure": "remapped_rows.failure",
    "heat": "temperature.gpu",
    "slowed": "clocks_event_reasons.sw_thermal_slowdown",
    "use": "utilization.gpu",
    "persistence": "persistence_mode",
}


@pytest.mark.parametrize(
    ("told", "state", "said"),
    [
        (row(3, errors=2.0), State.FAIL, "GPU 3: 2 uncorrected memory errors since the driver was loaded"),
        (row(1, failure="Yes"), State.FAIL, "GPU 1: a bad row of its memory could not be replaced"),
        (row(1, pending="Yes"), State.WARN, "GPU 1: a row of its memory waits to be taken out of use"),
        (row(2, slowed="Active", heat=92.0), State.WARN, "GPU 2: the driver slows it for heat, 92 °C"),
        (row(0, use=97.0), State.WARN, "GPU 0: 97 % busy at this moment"),
    ],
)
def test_a_gpu_that_is_not_well(told: Row, state: State, said: str) -> None:
    (found,) = judge_health([row(7, errors=0.0, slowed="Not Active"), told])
    assert (found.state, found.found) == (state, said)
    assert found.do


def test_gpus_that_are_well_say_what_they_are_like() -> None:
    (found,) = judge_health([row(0, heat=34.0, errors=0.0), row(1, heat=36.0, use=0.0)])
    assert (found.state, found.found) == (
        State.OK,
        "no memory errors, no throttling on 2 GPUs: 34 to 36 °C",
    )


def test_persistence() -> None:
    (off,) = judge_persistence([row(0, persistence="Enabled"), row(1, persistence="Disabled")])
    assert off.state is State.WARN
    assert off.found.startswith("persistence mode is off on GPU 1:")
    (on,) = judge_persistence([row(0, persistence="Enabled")])
    assert on.state is State.OK
    (silent,) = judge_persistence([row(0)])
    assert silent.state is State.UNKNOWN


def test_xids_in_a_kernel_log() -> None:
    log = (
        "[12.1] NVRM: loading NVIDIA UNIX x86_64 Kernel Module\n"
        "[99.0] NVRM: Xid (PCI:0000:61:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
        "[99.1] NVRM: Xid (PCI:0000:61:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.\n"
    )
    (found,) = xids_in(log)
    assert found.startswith("0000:61:00: Xid 79, ")
    assert xids_in("NVRM: everything fine") == ()


def answering(folder: Path, script: str) -> Host:
    (folder / "nvidia-smi").write_text(f"#!/bin/sh\n{script}")
    (folder / "nvidia-smi").chmod(0o755)
    return connect(HostSpec(path=(str(folder),)))


def test_an_older_driver_is_asked_by_its_own_names(tmp_path: Path) -> None:
    """It knows throttle_reasons, and nothing of remapped rows."""
    host = answering(
        tmp_path,
        "fields=${1#--query-gpu=}\n"
        'for f in $(echo "$fields" | tr , " "); do case "$f" in *event_reasons*|remapped*)'
        ' echo "Field \\"$f\\" is not a valid field to query."; exit 2;; esac; done\n'
        'echo "$fields" | sed "s/^[^,]*/0/; s/clocks_throttle_reasons.hw_slowdown/Active/"\n',
    )
    (found,), refused = read_health(host)
    assert found["clocks_event_reasons.hw_slowdown"].text == "Active"
    assert refused == ["remapped_rows.pending", "remapped_rows.failure"]


def test_no_rows_are_a_fault_with_its_words(tmp_path: Path) -> None:
    host = answering(tmp_path, "echo 'No devices were found'; exit 6\n")
    with pytest.raises(HostFault, match="No devices were found"):
        read_health(host)
