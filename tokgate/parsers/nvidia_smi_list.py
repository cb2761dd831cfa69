"""`nvidia-smi -L`: GPUs, and under each the MIG instances that it is cut into."""

from __future__ import annotations

import re

from tokgate.records.record import Record, Unread

from .foreign_json import writable

_SHOWN = 500
# No two repetitions that may share blanks: a hostile line would keep the matcher busy for hours.
_GPU = re.compile(r"^GPU ([0-9]{1,6}):(.*)\(UUID:([^)]+)\)$")
_MIG = re.compile(r"^MIG (\S+) +Device +([0-9]{1,6}):[^(]*\(UUID:([^)]+)\)$")


class MigInstance(Record):
    """`uuid` is MIG-UUID, or MIG-GPU-UUID/instance/compute under drivers before 470."""

    profile: str
    device: int
    uuid: str


class ListedGpu(Record):
    index: int
    name: str
    uuid: str
    instances: tuple[MigInstance, ...] = ()


class GpuList(Record):
    gpus: tuple[ListedGpu, ...] = ()
    unread: tuple[Unread, ...] = ()


def read_gpu_list(text: str) -> GpuList:
    """Read the list. An instance is no GPU of its own, whatever its id looks like."""
    gpus: list[ListedGpu] = []
    unread: list[Unread] = []
    for number, line in enumerate(writable(text).split("\n"), start=1):
        gpu, mig = _GPU.match(line.strip()), _MIG.match(line.strip())
        if gpu is not None:
            gpus.append(ListedGpu(index=int(gpu[1]), name=gpu[2].strip(), uuid=gpu[3].strip()))
        elif mig is not None and gpus:
            instance = MigInstance(profile=mig[1], device=int(mig[2]), uuid=mig[3].strip())
            gpus[-1] = gpus[-1].model_copy(update={"instances": (*gpus[-1].instances, instance)})
        elif line.strip():
            unread.append(Unread(line=number, text=line[:_SHOWN], why="neither a GPU nor an instance of one"))
    return GpuList(gpus=tuple(gpus), unread=tuple(unread))
