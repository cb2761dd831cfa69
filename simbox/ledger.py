"""The GPU ledger: who holds how much memory on which GPU, and how warm each GPU is.

A folder of small files, written by the processes that hold memory and read by nvidia_smi.py:

    holders/GPU-PID.json   one process on one GPU; touched four times a second while its owner lives
    telemetry/GPU.json     clocks, temperature, power, utilisation of one GPU

Whether an owner lives is asked of /proc, pid and start time together. The memory of a dead one goes away
`return_s` seconds after its last touch, gradually when that is long, or never.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from simbox.heat import Heat

# A return that takes longer than this is seen to progress; the short ones are too quick to watch.
GRADUAL_S = 2.0
NEVER = -1.0


@dataclass(frozen=True)
class Holder:
    """One process on one GPU."""

    gpu: int
    pid: int  # 0: nobody, memory without an owner
    start_ticks: int  # field 22 of /proc/PID/stat
    mib: int
    name: str
    return_s: float  # NEVER: its memory stays when it is gone


@dataclass(frozen=True)
class Held:
    """A holder as seen now."""

    holder: Holder
    mib: int
    state: str  # "running", "zombie" or "gone"


def claim(state: Path, holder: Holder) -> None:
    """Write down that a process holds memory; atomic, so that no reader sees half a file."""
    file = _file(state, holder.gpu, holder.pid)
    file.parent.mkdir(parents=True, exist_ok=True)
    _write(file, asdict(holder))


def touch(state: Path, gpu: int, pid: int) -> None:
    """Say that the owner is alive. Silent when the state folder is gone."""
    try:
        os.utime(_file(state, gpu, pid))
    except OSError:
        return


def held(state: Path) -> tuple[Held, ...]:
    """Return everything that is held now; what has been given back is swept away."""
    found = []
    for file in sorted((state / "holders").glob("*.json")):
        try:
            holder = Holder(**json.loads(file.read_text(encoding="utf-8")))
            quiet = time.time() - file.stat().st_mtime
        except (OSError, ValueError, TypeError):
            continue
        how = process_state(holder.pid, holder.start_ticks)
        left = holder.mib if how == "running" else _left(holder, quiet)
        if left > 0:
            found.append(Held(holder, left, how))
        else:
            file.unlink(missing_ok=True)
    return tuple(found)


def process_state(pid: int, start_ticks: int) -> str:
    """Say whether this very process is "running", a "zombie" or "gone"."""
    stat = _stat(pid) if pid > 0 else None
    if stat is None or int(stat[19]) != start_ticks:
        return "gone"
    return "zombie" if stat[0] in ("Z", "X") else "running"


def start_ticks(pid: int) -> int:
    """Return a living process's start time as the kernel counts it; 0 when there is none."""
    stat = _stat(pid)
    return int(stat[19]) if stat is not None else 0


def tell_heat(state: Path, gpu: int, heat: Heat) -> None:
    """Write down one GPU's state."""
    folder = state / "telemetry"
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder / f"{gpu}.json", asdict(heat))


def told_heat(state: Path, gpu: int) -> Heat | None:
    """Read one GPU's state; None when nobody has written it for two seconds: an idle GPU."""
    file = state / "telemetry" / f"{gpu}.json"
    try:
        if time.time() - file.stat().st_mtime > 2.0:
            return None
        return Heat(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def all_pids(state: Path) -> Iterator[tuple[int, int]]:
    """Yield pid and start time of every process on record."""
    for one in held(state):
        if one.state != "gone":
            yield one.holder.pid, one.holder.start_ticks


def _left(holder: Holder, quiet: float) -> int:
    if holder.return_s == NEVER:
        return holder.mib
    if quiet >= holder.return_s:
        return 0
    return holder.mib if holder.return_s <= GRADUAL_S else round(holder.mib * (1 - quiet / holder.return_s))


def _file(state: Path, gpu: int, pid: int) -> Path:
    return state / "holders" / f"{gpu}-{pid}.json"


def _write(file: Path, content: object) -> None:
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    draft.write_text(json.dumps(content), encoding="utf-8")
    draft.replace(file)


def _stat(pid: int) -> list[str] | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return text.rpartition(")")[2].split()
