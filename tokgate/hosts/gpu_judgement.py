"""Are the GPUs as the rig says, and empty? Whatever cannot be seen counts as not clean."""

from __future__ import annotations

from collections.abc import Iterable

from tokgate.hosts.gpu_clues import Clues
from tokgate.hosts.gpu_readout import GpuReadout
from tokgate.records import Finding, GpuHolder, GpuSeen, ProcessSeen
from tokgate.records.record import Unread
from tokgate.rig.machine import GpuSpec

Owner = tuple[int, int]
NO_CLUES = Clues()
# What is told one by one; a driver that names thousands is not to fill the report.
MOST_FINDINGS = 20
_WORST_FIRST = ("unclean", "unknown", "note")


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
            "started_at": process.started_at,
            "within": process.within,
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
    readout: GpuReadout,
    holders: tuple[GpuHolder, ...],
    spec: GpuSpec,
    ours: frozenset[Owner],
    clues: Clues = NO_CLUES,
) -> tuple[Finding, ...]:
    """Compare with the rig. `ours` are processes whose memory is expected."""
    findings = list(readout.problems)
    here = len(readout.gpus)
    if here != spec.count and not (here == 0 and any(f.severity != "note" for f in findings)):
        findings.append(_wrong_count(readout.gpus, spec, clues))
    findings += _duplicates(readout.gpus)
    for gpu in readout.gpus:
        on_it = [h for h in holders if h.gpu_index == gpu.index]
        findings += _judge_one(gpu, on_it, spec, ours, clues)
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
    return _bounded(findings)


def _bounded(findings: list[Finding]) -> tuple[Finding, ...]:
    """Return the worst of many findings, and one for the rest, which is as grave as the worst among it."""
    if len(findings) <= MOST_FINDINGS:
        return tuple(findings)
    findings = sorted(findings, key=lambda f: _WORST_FIRST.index(f.severity))
    rest = findings[MOST_FINDINGS:]
    more = Finding(
        severity=rest[0].severity,
        what=f"{len(rest)} more findings, the first of them: {rest[0].what}",
        do=rest[0].do,
    )
    return (*findings[:MOST_FINDINGS], more)


def _wrong_count(gpus: tuple[GpuSeen, ...], spec: GpuSpec, clues: Clues) -> Finding:
    here = len(gpus)
    known = _listed(gpus)
    if here > spec.count:
        return Finding(
            severity="unclean",
            what=f"{here} GPUs, the rig says {spec.count} (more than expected); there: {known}",
            do="use the machine that the rig means, or correct gpus.count: an unexpected GPU may be somebody's",
        )
    told = list(clues.missing)
    gaps = sorted(set(range(max((g.index for g in gpus), default=-1))) - {g.index for g in gpus})
    if gaps:
        told.append(f"no GPU has index {', '.join(map(str, gaps))}")
    which = f": {'; '.join(told)}" if told else ""
    return Finding(
        severity="unclean",
        what=f"{here} GPUs, the rig says {spec.count} (missing){which}; there: {known}",
        do="look for a GPU off the bus (dmesg, Xid 79) or hidden from this container, or correct gpus.count",
    )


def _listed(gpus: tuple[GpuSeen, ...]) -> str:
    """Return the GPUs by name, e.g. "NVIDIA H200 (0 at 00000000:19:00.0, 1 at ...)"."""
    models: dict[str, list[str]] = {}
    for gpu in gpus:
        where = f"{gpu.index} at {gpu.bus_id}" if gpu.bus_id else str(gpu.index)
        models.setdefault(gpu.name or "name unknown", []).append(where)
    return "; ".join(f"{name} ({', '.join(where)})" for name, where in models.items()) or "none"


def _duplicates(gpus: tuple[GpuSeen, ...]) -> Iterable[Finding]:
    """Yield a finding for each name that two rows share: then some GPU is not in the list at all."""
    names = {
        "index": [str(g.index) for g in gpus],
        "uuid": [g.uuid for g in gpus if g.uuid],
        "bus id": [g.bus_id for g in gpus if g.bus_id],
    }
    for kind, values in names.items():
        for twice in sorted({v for v in values if values.count(v) > 1}):
            yield Finding(
                severity="unclean",
                what=f"{values.count(twice)} GPUs in the list have the same {kind} {twice}",
                do="run nvidia-smi -L by hand: a list that names one GPU twice says nothing about another",
            )


def _judge_one(
    gpu: GpuSeen, holders: list[GpuHolder], spec: GpuSpec, ours: frozenset[Owner], clues: Clues
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
            do="use another machine, or have whoever runs this one switch MIG off: that ends what others compute there",
        )
    if gpu.mig is None and (hidden := [n for n in gpu.unread if _keeps_mig_secret(n)]):
        yield Finding(
            severity="unknown",
            what=f"{label}: nobody can say whether it is cut into MIG instances: {hidden[0].why}",
            do="log in with more rights",
        )
    # Below zero is no amount of memory, and no empty card either.
    if gpu.allocated_mib is None or gpu.allocated_mib < 0:
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
    named = ", ".join(_who(h) for h in strangers[:MOST_FINDINGS]) or "nobody known"
    if len(strangers) > MOST_FINDINGS:
        named += f" and {len(strangers) - MOST_FINDINGS} more"
    yield Finding(
        severity="unclean",
        what=f"{label}: {gpu.allocated_mib:.0f} MiB are allocated, held by {named}{_suspects(gpu, strangers, clues)}",
        do=_advice(strangers),
    )


def _suspects(gpu: GpuSeen, strangers: list[GpuHolder], clues: Clues) -> str:
    """Return who has the device open, where nobody is known to hold the memory."""
    if any(h.pid is not None for h in strangers):
        return ""
    words = ""
    if openers := clues.openers.get(gpu.index, ()):
        words += f"; only candidates, its device is open in: {', '.join(openers)}"
    if clues.hidden:
        words += f"; the open files of {clues.hidden} processes could not be seen (root would)"
    return words


def _keeps_mig_secret(note: Unread) -> bool:
    # "Not supported" and "not available" are what a card without MIG says.
    said = f"{note.text} {note.why}".lower()
    return said.startswith("mig") and any(w in said for w in ("permission", "failed", "unknown error"))


def _who(holder: GpuHolder) -> str:
    amount = "" if holder.used_mib is None else f", {holder.used_mib:.0f} MiB"
    since = f", since {_readable(holder.started_at)}" if holder.started_at else ""
    within = f", in {holder.within}" if holder.within else ""
    note = f", {holder.note}" if holder.note else ""
    if holder.pid is None:
        return f"no known process ({holder.note}{amount})" if holder.note else f"no known process{amount}"
    user = f" of {holder.user}" if holder.user else ""
    return f"pid {holder.pid}{user} ({one_line(holder.command or 'command unknown')}{amount}{since}{within}{note})"


def _readable(moment: str) -> str:
    return moment.replace("T", " ").replace("+00:00", " UTC")


def one_line(command: str) -> str:
    """Shorten a command for a sentence; programs given with -c have many lines."""
    return " ".join(command.split())[:200]


def _advice(strangers: list[GpuHolder]) -> str:
    if any(h.pid is not None and h.note is None for h in strangers):
        return "ask its owner or end it by hand; the gate ends only what it started itself"
    if any(h.note and h.note.startswith("ending") for h in strangers):
        return "wait a little longer; if it stays, its end hangs in the driver: see dmesg, reboot"
    if any(h.note and h.note.startswith("zombie") for h in strangers):
        return "end the zombie's parent, which has to collect it"
    return (
        "look for who holds it, as root on the host, since a container sees its own processes alone: fuser -v /dev/nvidia*. If "
        "nobody does, the driver lost track: measure on another machine, or have whoever runs this one restart it. Do not "
        "reset the card while others may compute on it: that ends their work"
    )
