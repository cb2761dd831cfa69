"""The box's nvidia-smi: `python -m simbox.nvidia_smi ...`, or simbox/bin in front of PATH.

Answers -L, --query-gpu, --query-compute-apps, topo -m and the plain table, again and again with -l and -lms, and
fails in the ways the scenarios ask for: text on stdout where rows were expected, with the exit status of the real one.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from simbox import smi_table
from simbox.box import Box, StateError, default_state, up
from simbox.environment import NoEnvironmentError
from simbox.scenario import ScenarioError
from simbox.smi_gpu import ALIASES, FIELDS, Gpu, gpus

_APP_FIELDS = (
    "timestamp",
    "gpu_name",
    "gpu_bus_id",
    "gpu_serial",
    "gpu_uuid",
    "pid",
    "process_name",
    "used_gpu_memory",
)
_APP_ALIASES = {"used_memory": "used_gpu_memory", "name": "process_name"}
# What the driver's faults look like: text, exit status.
_FAULTS = {
    "driver-mismatch": (
        "Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.173",
        18,
    ),
    "no-driver": (
        (
            "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
            "Make sure that the latest NVIDIA driver is installed and running.\n"
        ),
        9,
    ),
    "no-gpus": (
        "Failed to initialize NVML: No supported GPUs were found\nUnable to determine the number of GPUs\n",
        255,
    ),
}


def answer(box: Box, argv: Sequence[str], asked: argparse.Namespace | None = None) -> tuple[str, int]:
    """Return what nvidia-smi prints on stdout, and its exit status. `asked`: the command line, where it is parsed."""
    knobs = box.scenario.knobs
    if knobs.smi in _FAULTS:
        return _FAULTS[knobs.smi][0] + "\n", _FAULTS[knobs.smi][1]
    if 0 <= knobs.lost_gpu < knobs.gpus:
        bus = f"0000:{0x11 + knobs.lost_gpu * 0x10:02X}:00.0"
        return (
            f"Unable to determine the device handle for GPU {bus}: GPU is lost.  Reboot the system to recover this GPU\n",
            15,
        )
    listed = gpus(box)
    if list(argv[:2]) == ["topo", "-m"]:
        return smi_table.topology(listed), 0
    return _asked(listed, asked if asked is not None else parse(argv))


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Read the command line; SystemExit for what the box's nvidia-smi does not know."""
    parser = argparse.ArgumentParser(prog="nvidia-smi", allow_abbrev=False)
    parser.add_argument("-L", "--list-gpus", action="store_true")
    parser.add_argument("-i", "--id")
    parser.add_argument("--query-gpu")
    parser.add_argument("--query-compute-apps")
    parser.add_argument("--format", default="")
    parser.add_argument("-l", "--loop", type=float, nargs="?", const=5.0)
    parser.add_argument("-lms", "--loop-ms", type=float)
    return parser.parse_args(list(argv))


def _asked(listed: Sequence[Gpu], asked: argparse.Namespace) -> tuple[str, int]:
    if asked.id is not None:
        wanted = asked.id.split(",")
        listed = tuple(g for g in listed if str(g.index) in wanted or g.uuid in wanted or g.bus_id in wanted)
        if not listed:
            return "No devices were found\n", 6
    if asked.list_gpus:
        return "".join(f"GPU {g.index}: {FIELDS['name'][1](g)} (UUID: {g.uuid})\n" for g in listed), 0
    words = asked.format.split(",")
    if (asked.query_gpu or asked.query_compute_apps) and "csv" not in words:
        return "ERROR: Option --format is not recognized. Please run 'nvidia-smi -h'.\n\n", 2
    if asked.query_gpu:
        return _query_gpu(listed, asked.query_gpu.split(","), words)
    if asked.query_compute_apps:
        return _query_apps(listed, asked.query_compute_apps.split(","), words)
    return smi_table.table(listed), 0


def _query_gpu(listed: Sequence[Gpu], names: Sequence[str], words: Sequence[str]) -> tuple[str, int]:
    columns = []
    for name in (n.strip() for n in names):
        known = FIELDS.get(name) or FIELDS.get(ALIASES.get(name, ""))
        if known is None:
            return f'Field "{name}" is not a valid field to query.\n\n', 2
        # The head has the name that the driver gives a field, whichever it was asked by.
        columns.append((ALIASES.get(name, name), *known))
    head = [name + (f" [{unit}]" if unit else "") for name, unit, _ in columns]
    units = [unit for _, unit, _ in columns]
    return _csv(head, units, [[read(gpu) for _, _, read in columns] for gpu in listed], words), 0


def _query_apps(listed: Sequence[Gpu], names: Sequence[str], words: Sequence[str]) -> tuple[str, int]:
    wanted = [n.strip() for n in names]
    for name in wanted:
        if _APP_ALIASES.get(name, name) not in _APP_FIELDS:
            return f'Field "{name}" is not a valid field to query.\n\n', 2
    rows = []
    for gpu in listed:
        for app in gpu.processes:
            # A zombie has no command line any more.
            shown = app.holder.name if app.state == "running" else "[Not Found]"
            values = {"pid": str(app.holder.pid), "process_name": shown, "used_gpu_memory": str(app.mib)}
            rows.append(
                [
                    values.get(_APP_ALIASES.get(name, name)) or FIELDS[ALIASES.get(name, name)][1](gpu)
                    for name in wanted
                ]
            )
    units = ["MiB" if _APP_ALIASES.get(n, n) == "used_gpu_memory" else "" for n in wanted]
    return _csv(
        [_APP_ALIASES.get(n, n) + (f" [{u}]" if u else "") for n, u in zip(wanted, units, strict=True)],
        units,
        rows,
        words,
    ), 0


def _csv(
    head: Sequence[str], units: Sequence[str], rows: Sequence[Sequence[str]], words: Sequence[str]
) -> str:
    lines = [] if "noheader" in words else [", ".join(head)]
    for row in rows:
        cells = [
            cell if not unit or "nounits" in words or not cell or not cell[0].isdigit() else f"{cell} {unit}"
            for cell, unit in zip(row, units, strict=True)
        ]
        lines.append(", ".join(cells))
    return "".join(f"{line}\n" for line in lines)


def main() -> None:
    try:
        box = up(default_state(), tuple(n for n in os.environ.get("SIMBOX_SCENARIO", "").split(",") if n))
    except (ScenarioError, StateError, NoEnvironmentError) as error:
        sys.exit(f"simbox: {error}")
    knobs = box.scenario.knobs
    if knobs.smi == "absent":
        print("nvidia-smi: command not found", file=sys.stderr)
        sys.exit(127)
    if knobs.smi == "hangs":
        time.sleep(knobs.stray_life_s)
    if sys.argv[1:2] == ["topo"]:
        sys.exit(_say(*answer(box, sys.argv[1:])))
    asked = parse(sys.argv[1:])
    status = _say(*answer(box, (), asked))
    pause = asked.loop_ms / 1000 if asked.loop_ms is not None else asked.loop
    asked.format = ",".join([*asked.format.split(","), "noheader"])
    due = time.monotonic()
    # A loop ends with its reader, and with the box.
    while pause is not None and not status and (box.state / "box.json").exists():
        due = max(due + pause, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))
        status = _say(*answer(box, (), asked))
    sys.exit(status)


def _say(text: str, status: int) -> int:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(1)
    return status


if __name__ == "__main__":
    main()
