"""What a gate finds on the host besides its hardware: the clock, room to write, processes that may be seen."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tokgate.records.doctor import Remark

from .check import Case, Check
from .readings import WORK_FOLDERS, machine, table, told

# Of one gate on 8 ranks: 16 MB of logs, bodies and probe files in a run folder, a torch trace of some tens of MB a rank.
_LEAST_MIB, _GOOD_MIB = 200, 2048
# Log lines and telemetry of the host are laid beside the gate's own stamps, window by window.
_SKEW_S = 2.0
_TIME = "import time\ndef main(_):\n    return time.time()\n"


def clock(case: Case) -> Iterator[Remark]:
    if case.host.local:
        yield Remark.ok("it is this machine's own")
        return
    yield from judge_skew(_skew(case))


def _skew(case: Case) -> tuple[float, float]:
    """Return how far the host's clock is ahead, in seconds, and by how much that may be wrong."""
    before = time.time()
    there = float(case.host.run_python(_TIME, name="clock reader"))
    after = time.time()
    return there - (before + after) / 2, (after - before) / 2


def judge_skew(skew: tuple[float, float]) -> Iterator[Remark]:
    ahead, error = skew
    if abs(ahead) - error > _SKEW_S:
        yield Remark.warn(
            f"its clock is {abs(ahead):.1f} s {'ahead of' if ahead > 0 else 'behind'} this machine's",
            "have both keep time (chrony, systemd-timesyncd): logs of the host are laid beside the gate's stamps",
        )
    else:
        yield Remark.ok(f"within {max(abs(ahead), error):.2f} s of this machine's")


def work_dir(case: Case) -> Iterator[Remark]:
    folders = told(case, "folders")
    yield from judge_work_dir(case.rig.host.work_dir, folders["work_dir"], [folders[n] for n in WORK_FOLDERS])


def judge_work_dir(
    path: str, room: Mapping[str, Any], inner: Sequence[Mapping[str, Any]] = ()
) -> Iterator[Remark]:
    """`inner`: the folders below it, which another user's gate may have made."""
    closed = [one["nearest"] for one in inner if one["exists"] and not one["writable"]]
    if not room["writable"]:
        where = path if room["exists"] else f"{room['nearest']}, where it would be made,"
        yield Remark.fail(
            f"{where} cannot be written by the login user",
            "make it writable, or set host.work_dir in the rig to a folder that is",
        )
    elif closed:
        yield Remark.fail(
            f"{', '.join(closed)} cannot be written by the login user: another user's gate made it",
            "open it for both (chmod 1777), or give each user a host.work_dir of its own",
        )
    elif room["free_mib"] < _LEAST_MIB or room["free_inodes"] < 1000:
        yield Remark.fail(
            f"{room['free_mib']} MiB and {room['free_inodes']} inodes are free on the disk of {path}",
            "make room there, or set host.work_dir to another disk: server logs and traces are written there",
        )
    elif room["free_mib"] < _GOOD_MIB:
        yield Remark.warn(
            f"{room['free_mib']} MiB are free on the disk of {path}; traces of all ranks may take more",
            "make room there, or set host.work_dir to another disk",
        )
    else:
        made = "" if room["exists"] else ", to be made"
        yield Remark.ok(f"{path}{made}: {room['free_mib'] / 1024:.0f} GiB free")


def home(case: Case) -> Iterator[Remark]:
    yield from judge_home(told(case, "folders")["home"])


def judge_home(room: Mapping[str, Any]) -> Iterator[Remark]:
    if not room["writable"] or not room["exists"]:
        yield Remark.warn(
            f"{room['nearest']} cannot be written: kernels that are compiled at start have nowhere to be kept",
            "write HOME, or TRITON_CACHE_DIR and the like, into server.environment",
        )
    elif room["free_mib"] < _GOOD_MIB:
        yield Remark.warn(
            f"{room['free_mib']} MiB are free in {room['nearest']}",
            "make room: compiled kernels are kept there",
        )
    else:
        yield Remark.ok(f"{room['nearest']} can be written, {room['free_mib'] / 1024:.0f} GiB free")


def visible(case: Case) -> Iterator[Remark]:
    state, seen = machine(case), len(table(case))
    if not told(case, "environ_readable"):
        yield Remark.fail(
            "no environment of another process may be read",
            "log in as a user with /proc of its own processes",
        )
    elif not state["others_visible"]:
        yield Remark.warn(
            f"/proc shows the user {state['user']} only its own {seen} processes (hidepid): whoever holds GPU memory stays unnamed",
            "log in as root, or as a member of the group that hidepid lets see all",
        )
    elif state["ptrace_scope"] is not None and state["ptrace_scope"] > 1 and state["user"] != "root":
        yield Remark.note(
            f"{seen} processes; py-spy may not look into a server that hangs (ptrace_scope {state['ptrace_scope']})"
        )
    else:
        yield Remark.ok(f"{seen} processes visible to {state['user']}, environments readable")


CHECKS = (
    Check(
        "host.clock",
        "whether its clock and this machine's agree",
        "logs that cannot be laid beside windows",
        clock,
    ),
    Check(
        "host.work_dir",
        "whether logs, lease and traces can be written, and their disk has room",
        "a start that cannot write its log",
        work_dir,
    ),
    Check(
        "host.home",
        "whether the server's home, where compiled kernels are kept, can be written",
        "a start that compiles everything again, or fails to",
        home,
    ),
    Check(
        "host.processes",
        "whether /proc shows processes and their environments",
        "owners of GPU memory without a name, and an environment without proof",
        visible,
    ),
)
