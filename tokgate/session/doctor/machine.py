"""The host itself: clock, room, processes, cores, memory, limits. What a start or a steady measurement needs of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tokgate.records.doctor import Remark
from tokgate.rig.models import Rig
from tokgate.rig.sizes import gpus_needed

from .check import Case, Check, with_several_gpus
from .readings import machine, told

# SGLang's processes open a socket or a pipe for each pair of them, and every shard of the weights: 65535 is what it asks
# for itself (utils set_ulimit); below a few thousand starts have died of "too many open files".
_FILES = 4096
# "docker run --shm-size=1g --ulimit memlock=-1", NCCL's own advice for containers (its troubleshooting page).
_SHM_MIB = 1024
_MEMLOCK = 64 << 20
_SHM = "/dev/shm"  # noqa: S108 - named, not written
_TOO_BUSY = 0.5  # of the usable cores
_SWAPPED_MIB = 512


def cores(case: Case) -> Iterator[Remark]:
    state = machine(case)
    # Of this machine the load is told once, by client.load.
    yield from judge_cores(case.rig, {**state, "load": None} if case.host.local else state)


def judge_cores(rig: Rig, state: Mapping[str, Any]) -> Iterator[Remark]:
    """An idle scheduler spins a whole core, in each rank; tokenizer and detokenizer take another (SGLang 0.5.16, 0.5.23)."""
    # Those of a simulated machine only follow a schedule.
    ranks = 1 if rig.simulated else max(gpus_needed(rig, arm) or 1 for arm in rig.arms)
    usable = state["cores"]
    if usable is None:
        yield Remark.unknown("how many cores may be used was not told")
        return
    quota = state["cpu_quota"]
    here = min(usable, quota) if quota is not None else usable
    limit = f", limited to {quota:g} by the control group" if quota is not None and quota < usable else ""
    if here < ranks + 1:
        yield Remark.warn(
            f"{usable} cores{limit} for {_ranks(ranks)} and the tokenizer: each rank spins one",
            "give it more cores (docker --cpus, CPU affinity), or expect steps that wait for each other",
        )
        return
    load = state["load"]
    slow = [g for g in state["governors"] or {} if g != "performance"]
    if load is not None and load[0] > _TOO_BUSY * here and here - load[0] < ranks + 1:
        yield Remark.warn(
            f"{here:g} cores, load {load[0]:.1f} in the last minute: too few are left for {_ranks(ranks)}",
            "see with top who computes there, and let that end first",
        )
    elif slow:
        yield Remark.warn(
            f"CPU governor {', '.join(sorted(slow))}: clocks rise only after work has come, which has doubled time to first token",
            "as root: cpupower frequency-set -g performance",
        )
    else:
        governor = "governor performance" if state["governors"] else "governor not told"
        busy = "" if load is None else f"; load {load[0]:.1f}"
        yield Remark.ok(f"{here:g} cores{limit} for {_ranks(ranks)}; {governor}{busy}")


def _ranks(count: int) -> str:
    return f"{count} rank{'s' if count > 1 else ''}"


def memory(case: Case) -> Iterator[Remark]:
    state = machine(case)
    yield from judge_memory(told(case, "memory"), state["memory_limit_mib"])


def judge_memory(memory: Mapping[str, int], limit_mib: int | None) -> Iterator[Remark]:
    words = f"{memory['available'] / 1024:.1f} of {memory['total'] / 1024:.1f} GiB available"
    if limit_mib is not None and limit_mib < memory["total"]:
        words += f", the control group allows {limit_mib / 1024:.1f} GiB"
    if memory["swap_used"] > _SWAPPED_MIB:
        yield Remark.warn(
            f"{words}; {memory['swap_used'] / 1024:.1f} GiB are swapped out: what is needed again comes back at a disk's speed",
            "free memory, then as root: swapoff -a && swapon -a",
        )
    elif memory["available"] < 0.05 * memory["total"]:
        yield Remark.warn(
            f"{words}: the kernel may kill a rank", "see with top who holds it, and let that end first"
        )
    else:
        yield Remark.ok(words)


def limits(case: Case) -> Iterator[Remark]:
    yield from judge_limits(case.rig, told(case, "limits"))


def judge_limits(rig: Rig, found: Mapping[str, list[int]]) -> Iterator[Remark]:
    (files, most), (locked, _) = found["nofile"], found["memlock"]
    words = (
        f"open files {_limit(files)} (at most {_limit(most)}), locked memory {_limit(locked, 1024, ' KiB')}"
    )
    if 0 <= most < _FILES:
        yield Remark.warn(
            f"{words}: starts of large models have died of too many open files",
            "raise it: ulimit -n 65535, LimitNOFILE of a unit, docker --ulimit nofile=65535",
        )
    elif rig.gpus.count > 1 and not rig.simulated and 0 <= locked < _MEMLOCK:
        yield Remark.note(
            f"{words}: too little for NCCL over InfiniBand, and its advice for containers is unlimited",
            "ulimit -l unlimited, docker --ulimit memlock=-1",
        )
    else:
        yield Remark.ok(words)


def _limit(value: int, scale: int = 1, unit: str = "") -> str:
    return "unlimited" if value < 0 else f"{value // scale}{unit}"


def shared_memory(case: Case) -> Iterator[Remark]:
    yield from judge_shared_memory(told(case, "shm_mib"))


def judge_shared_memory(size_mib: int) -> Iterator[Remark]:
    if size_mib < _SHM_MIB:
        yield Remark.warn(
            f"{_SHM} has {size_mib} MiB: ranks without peer access pass everything through it, and NCCL may not come up",
            "mount it larger; in docker --shm-size=1g or --ipc=host",
        )
    else:
        yield Remark.ok(f"{_SHM} has {size_mib / 1024:.1f} GiB")


def numa(case: Case) -> Iterator[Remark]:
    nodes, balancing = told(case, "numa_nodes"), machine(case)["numa_balancing"]
    if balancing == 1 and nodes > 1:
        yield Remark.note(
            f"{nodes} nodes, and the kernel moves pages between them by itself: SGLang warns of it too",
            "as root: sysctl kernel.numa_balancing=0",
        )
    else:
        yield Remark.ok(
            f"{nodes} node{'s' if nodes != 1 else ''}, pages stay where they are" if nodes else "not told"
        )


CHECKS = (
    Check(
        "host.cpu",
        "whether there are cores for every rank, and they are awake",
        "steps that wait for a core",
        cores,
    ),
    Check(
        "host.memory",
        "whether memory is free and nothing is swapped out",
        "a rank killed by the kernel",
        memory,
    ),
    Check(
        "host.limits",
        "what a process may open and lock",
        "too many open files; NCCL that cannot pin memory",
        limits,
    ),
    Check(
        "host.shared_memory",
        f"how large {_SHM} is",
        "NCCL that does not come up in a container",
        shared_memory,
        applies=with_several_gpus,
    ),
    Check(
        "host.numa",
        "whether the kernel moves pages between NUMA nodes",
        "numbers that wander within a run",
        numa,
    ),
)
