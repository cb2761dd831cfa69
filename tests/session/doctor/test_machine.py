"""What the checks of machine, slate and GPUs say, failing case by failing case. The hosts are in test_hosts.py."""

from __future__ import annotations

from typing import Any

import pytest

from tests.session.doctor.judged import GIB, only, rig, said
from tests.session.rigs import small_rig
from tokgate.records import Finding
from tokgate.records.doctor import Remark, State
from tokgate.session.doctor import (
    gpus,
    machine,
    rooms,
    slate,
)

# --- the machine -----------------------------------------------------------------------------------------------------


def test_a_clock_that_is_off() -> None:
    assert said(rooms.judge_skew((0.4, 0.5)))[0] is State.OK
    assert said(rooms.judge_skew((-31.0, 0.1))) == (State.WARN, "its clock is 31.0 s behind this machine's")
    # What the answer took may be all of it.
    assert said(rooms.judge_skew((5.0, 4.0)))[0] is State.OK


@pytest.mark.parametrize(
    ("room", "state", "words"),
    [
        (
            {"writable": False},
            State.FAIL,
            "/srv, where it would be made, cannot be written by the login user",
        ),
        ({"free_mib": 60}, State.FAIL, "60 MiB and 50000 inodes are free on the disk of /srv/w"),
        ({"free_inodes": 3}, State.FAIL, "90000 MiB and 3 inodes are free on the disk of /srv/w"),
        (
            {"free_mib": 900},
            State.WARN,
            "900 MiB are free on the disk of /srv/w; traces of all ranks may take more",
        ),
        ({}, State.OK, "/srv/w, to be made: 88 GiB free"),
    ],
)
def test_the_work_folder(room: dict[str, Any], state: State, words: str) -> None:
    whole = {
        "exists": False,
        "nearest": "/srv",
        "writable": True,
        "free_mib": 90_000,
        "free_inodes": 50_000,
    } | room
    assert said(rooms.judge_work_dir("/srv/w", whole)) == (state, words)


def test_a_folder_that_another_users_gate_has_made() -> None:
    room = {"exists": True, "nearest": "/srv/w", "writable": True, "free_mib": 9000, "free_inodes": 9000}
    inner = {**room, "nearest": "/srv/w/launches", "writable": False}
    assert said(rooms.judge_work_dir("/srv/w", room, [room, inner])) == (
        State.FAIL,
        "/srv/w/launches cannot be written by the login user: another user's gate made it",
    )


def test_a_home_that_cannot_be_written() -> None:
    room = {"exists": True, "nearest": "/root", "writable": True, "free_mib": 9000, "free_inodes": 9000}
    assert said(rooms.judge_home(room))[0] is State.OK
    assert said(rooms.judge_home({**room, "writable": False}))[0] is State.WARN
    assert said(rooms.judge_home({**room, "free_mib": 3})) == (State.WARN, "3 MiB are free in /root")


@pytest.mark.parametrize(
    ("state", "outcome", "words"),
    [
        ({"cores": 4}, State.WARN, "4 cores for 8 ranks and the tokenizer: each rank spins one"),
        (
            {"cpu_quota": 6.0},
            State.WARN,
            "64 cores, limited to 6 by the control group for 8 ranks and the tokenizer",
        ),
        (
            {"load": [61.0, 0, 0]},
            State.WARN,
            "64 cores, load 61.0 in the last minute: too few are left for 8 ranks",
        ),
        (
            {"governors": {"powersave": 64}},
            State.WARN,
            "CPU governor powersave: clocks rise only after work has come",
        ),
        ({}, State.OK, "64 cores for 8 ranks; governor performance; load 1.0"),
    ],
)
def test_cores(state: dict[str, Any], outcome: State, words: str) -> None:
    whole = {
        "cores": 64,
        "cpu_quota": None,
        "load": [1.0, 1.0, 1.0],
        "governors": {"performance": 64},
    } | state
    found = said(machine.judge_cores(rig(), whole))
    assert found[0] is outcome
    assert found[1].startswith(words)


def test_memory_and_swap() -> None:
    memory = {"total": 512 * GIB, "available": 400 * GIB, "swap_total": 8 * GIB, "swap_used": 0}
    assert said(machine.judge_memory(memory, None)) == (State.OK, "400.0 of 512.0 GiB available")
    assert said(machine.judge_memory({**memory, "swap_used": 3 * GIB}, None))[0] is State.WARN
    assert said(machine.judge_memory({**memory, "available": 9 * GIB}, 64 * GIB)) == (
        State.WARN,
        "9.0 of 512.0 GiB available, the control group allows 64.0 GiB: the kernel may kill a rank",
    )


def test_limits_and_shared_memory() -> None:
    good = {"nofile": [1024, 1048576], "memlock": [-1, -1], "nproc": [-1, -1]}
    assert said(machine.judge_limits(rig(), good))[0] is State.OK
    assert said(machine.judge_limits(rig(), {**good, "nofile": [1024, 1024]})) == (
        State.WARN,
        "open files 1024 (at most 1024), locked memory unlimited: starts of large models have died of too many open files",
    )
    assert said(machine.judge_limits(rig(), {**good, "memlock": [65536, 65536]}))[0] is State.NOTE
    assert said(machine.judge_shared_memory(64))[0] is State.WARN  # docker's own default
    assert said(machine.judge_shared_memory(16 * GIB)) == (State.OK, "/dev/shm has 16.0 GiB")


# --- the slate -------------------------------------------------------------------------------------------------------


def test_a_login_that_hides_gpus() -> None:
    assert said(slate.judge_passed_on(rig(), {"CUDA_VISIBLE_DEVICES": "0,1"})) == (
        State.FAIL,
        "the login has CUDA_VISIBLE_DEVICES='0,1', and the rig passes it on: 2 GPUs for the 8 that are asked for",
    )
    assert said(slate.judge_passed_on(rig(), {"PATH": "/bin"}))[0] is State.OK
    assert said(slate.judge_passed_on(rig(), {"LD_LIBRARY_PATH": "/opt/nccl"}))[0] is State.NOTE


@pytest.mark.parametrize("severity", ["unclean", "unknown"])
def test_what_stops_a_gate_is_a_failure_here(severity: Any) -> None:
    """What cannot be seen is not clean: the gate refuses it, so the doctor must not say less."""
    found = slate.remark_of(Finding(severity=severity, what="memory is held", do="end it"))
    assert (found.state, found.do) == (State.FAIL, "end it")


# --- GPUs ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("newest", "built", "state", "words"),
    [
        ("12.4", "13.0", State.FAIL, "driver 550.54 knows CUDA up to 12.4, torch is built for 13.0"),
        (
            "12.4",
            "12.8",
            State.NOTE,
            "driver 550.54 knows CUDA up to 12.4, torch is built for 12.8: compatible within",
        ),
        ("12.8", "12.8", State.OK, "driver 550.54 knows CUDA up to 12.8, torch is built for 12.8"),
        ("12.8", "none", State.FAIL, "torch there is a CPU build: it sees no GPU"),
        ("12.8", None, State.FAIL, "there is no torch in the server's Python"),
        (None, "12.8", State.UNKNOWN, "driver 550.54, whose CUDA is not told; torch is built for CUDA 12.8"),
    ],
)
def test_driver_and_torch(newest: str | None, built: str | None, state: State, words: str) -> None:
    found = said(gpus.judge_driver("550.54", newest, built))
    assert found[0] is state
    assert found[1].startswith(words)


def test_links_and_the_level_that_the_rig_allows() -> None:
    pairs = {"0-1": "PIX", "0-2": "SYS", "1-2": "SYS"}
    plain = small_rig()
    no_level = plain.model_copy(update={"gpus": plain.gpus.model_copy(update={"count": 3})})
    narrow = rig("kimi-k2.5-8gpu", "server.nccl.NCCL_P2P_LEVEL=PHB")
    assert said(gpus.judge_links(narrow, pairs, 2)) == (
        State.WARN,
        "3 pairs: SYS 2, PIX 1; GPUs on 2 NUMA nodes; NCCL_P2P_LEVEL = PHB keeps 2 of them from direct access",
    )
    assert said(gpus.judge_links(rig(), pairs, 1))[0] is State.OK
    assert said(gpus.judge_links(no_level, pairs, 1))[0] is State.NOTE
    assert said(gpus.judge_links(rig("h200x2"), {"0-1": "NV18"}, 1)) == (State.OK, "1 pairs: NV18 1")


def test_errors_of_the_driver() -> None:
    log = "NVRM: Xid (PCI:0000:61:00): 79, pid=1, GPU has fallen off the bus."
    assert said(gpus.judge_errors(log))[0] is State.WARN
    assert said(gpus.judge_errors("nothing")) == (State.OK, "no Xid in the kernel log")


def test_the_same_of_several_gpus_is_said_once() -> None:
    told = [Remark.warn(f"GPU {i} may draw 450 W", f"nvidia-smi -i {i} -pl 600") for i in (0, 1, 5)]
    found = only(gpus.alike_together(told))
    assert (found.found, found.do) == ("GPU 0, 1, 5 may draw 450 W", "nvidia-smi -i 0,1,5 -pl 600")
