"""Are the GPUs as the rig says, and empty? Whatever cannot be seen counts as not clean."""

from __future__ import annotations

from collections.abc import Iterable

from tokgate.hosts.gpu_readout import GpuReadout
from tokgate.records import Finding, GpuHolder, GpuSeen, ProcessSeen
from tokgate.rig.models import GpuSpec

Owner = tuple[int, int]


def name_holders(holders: Iterable[GpuHolder], table: Iterable[ProcessSeen]) -> tuple[GpuHolder, ...]:
    """Add who each holder is, as far as the process table knows it."""
    by_pid = {p.pid: p for p in table}
    named = []
    for holder in holders:
        process = by_pid.get(holder.pid) if holder.pid is not None else None
        if process is None:
            note = holder.note or "not in this process table: in another pid namespace, or just ended"
            named.append(holder.model_copy(update={"note": note}))
            continue
        changes = {
            "start_ticks": process.start_ticks,
            "user": process.user,
            "command": process.cmdline or holder.command or process.comm,
        }
        if process.state == "Z":
            changes["note"] = f"zombie: its parent {process.ppid} has not collected it"
        elif not process.cmdline:
            # No process of a user is without one. Seen on an H200 in the first moments after a SIGKILL.
            changes["note"] = "ending: its own memory is gone, the driver is still freeing the GPU's"
        named.append(holder.model_copy(update=changes))
    return tuple(named)


def unowned(gpus: Iterable[GpuSeen], holders: Iterable[GpuHolder], spec: GpuSpec) -> tuple[GpuHolder, ...]:
    """Return a holder without a process for every GPU whose memory nobody is known to hold."""
    owned = {h.gpu_index for h in holders}
    return tuple(
        GpuHolder(gpu_index=g.index, pid=None, used_mib=g.allocated_mib, note="no living owner is known")
        for g in gpus
        if g.allocated_mib is not None and g.allocated_mib > spec.tolerance_mib and g.index not in owned
    )


def judge(
    readout: GpuReadout, holders: tuple[GpuHolder, ...], spec: GpuSpec, ours: frozenset[Owner]
) -> tuple[Finding, ...]:
    """Compare with the rig. `ours` are processes whose memory is expected."""
    findings = list(readout.problems)
    here = len(readout.gpus)
    if here != spec.count and not (here == 0 and findings):
        known = ", ".join(f"{g.index}: {g.name}" for g in readout.gpus) or "none"
        word = "missing" if here < spec.count else "more than expected"
        findings.append(
            Finding(
                severity="unclean",
                what=f"{here} GPUs, the rig says {spec.count} ({word}); there: {known}",
                do="look for a GPU off the bus (dmesg, Xid 79) or hidden from this container, or correct gpus.count",
            )
        )
    for gpu in readout.gpus:
        findings += _judge_one(gpu, [h for h in holders if h.gpu_index == gpu.index], spec, ours)
    placed = {g.index for g in readout.gpus}
    findings += [
        Finding(
            severity="unclean",
            what=f"{_who(h)} holds memory on a GPU that is not in the list",
            do="run nvidia-smi by hand: a MIG instance or a GPU that fell off the bus",
        )
        for h in holders
        if h.gpu_index not in placed
    ]
    return tuple(findings)


def _judge_one(
    gpu: GpuSeen, holders: list[GpuHolder], spec: GpuSpec, ours: frozenset[Owner]
) -> Iterable[Finding]:
    label = f"GPU {gpu.index} ({gpu.name or 'name unknown'})"
    if spec.model is not None and spec.model not in (gpu.name or ""):
        yield Finding(
            severity="unclean" if gpu.name else "unknown",
            what=f"{label} is not the model that the rig says: {spec.model}",
            do="use the machine that the rig means, or correct gpus.model",
        )
    if gpu.mig:
        yield Finding(
            severity="unclean",
            what=f"{label} is cut into MIG instances",
            do=f"switch it off (nvidia-smi -i {gpu.index} -mig 0) or use another machine",
        )
    if gpu.allocated_mib is None:
        why = "; ".join(f"{n.text} ({n.why})" for n in gpu.unread) or "the driver gives no number"
        yield Finding(
            severity="unknown",
            what=f"{label}: nobody can say how much memory is allocated: {why}",
            do="log in with more rights; a card with unified memory or MIG cannot be shown to be empty",
        )
        return
    strangers = [h for h in holders if (h.pid, h.start_ticks) not in ours]
    if gpu.allocated_mib <= spec.tolerance_mib:
        for holder in strangers:
            yield Finding(
                severity="note",
                what=f"{label}: {_who(holder)} is attached to it",
                do="end it, if it may compute",
            )
        return
    if holders and not strangers:
        return
    named = ", ".join(_who(h) for h in strangers) or "nobody known"
    yield Finding(
        severity="unclean",
        what=f"{label}: {gpu.allocated_mib:.0f} MiB are allocated, held by {named}",
        do=_advice(gpu, strangers),
    )


def _who(holder: GpuHolder) -> str:
    amount = "" if holder.used_mib is None else f", {holder.used_mib:.0f} MiB"
    note = f", {holder.note}" if holder.note else ""
    if holder.pid is None:
        return f"no known process ({holder.note}{amount})" if holder.note else f"no known process{amount}"
    user = f" of {holder.user}" if holder.user else ""
    return f"pid {holder.pid}{user} ({one_line(holder.command or 'command unknown')}{amount}{note})"


def one_line(command: str) -> str:
    """Shorten a command for a sentence; programs given with -c have many lines."""
    return " ".join(command.split())[:200]


def _advice(gpu: GpuSeen, strangers: list[GpuHolder]) -> str:
    if any(h.pid is not None and h.note is None for h in strangers):
        return "ask its owner or end it by hand; the gate ends only what it started itself"
    if any(h.note and h.note.startswith("ending") for h in strangers):
        return "wait a little longer; if it stays, its end hangs in the driver: see dmesg, reboot"
    if any(h.note and h.note.startswith("zombie") for h in strangers):
        return "end the zombie's parent, which has to collect it"
    return (
        "look for it in other containers of this machine; if nobody holds it, the driver lost track:"
        f" nvidia-smi --gpu-reset -i {gpu.index}, or a reboot"
    )
