"""What a host has that a rig may name: Pythons with SGLang, models on its disks, free ports. Looked at, never changed."""

from __future__ import annotations

from typing import Literal

from .host import GpuSeen
from .model import ModelConfig
from .record import Record, Unread

# How two GPUs of one host reach each other, the slowest pair deciding; "none": there is one GPU at most.
TopologyClass = Literal["nvlink", "pcie", "none", "unknown"]


class PythonSeen(Record):
    """An interpreter. `sglang` None: it finds none."""

    path: str
    found_by: str  # "the running server, pid 71", "PATH", "a rig of this checkout", ...
    version: str | None = None
    sglang: str | None = None  # its version; "unknown" where it is there and does not say
    sglang_at: str | None = None  # the folder that would be imported
    torch: str | None = None
    accelerator: str | None = None  # "cuda 12.8", "rocm 6.4", "cpu"; None: not told
    why: str | None = None  # why it could not be asked


class ModelSeen(Record):
    """A folder with the config.json of a model."""

    path: str
    found_by: str
    config: ModelConfig
    hub_name: str | None = None  # "org/name" of a folder of the Hugging Face cache
    made_for: str | None = None  # of a draft: the target that its own configuration names
    tokenizer: bool = False
    weight_bytes: int = 0
    weight_files: int = 0
    missing_files: int = 0  # named by the index and not there: a download that has not ended


class ServerSeen(Record):
    """A SGLang server that runs there now. Of its line only what a rig may need; keys are never kept."""

    pid: int
    user: str | None = None
    python: str | None = None
    model_path: str | None = None
    draft_path: str | None = None
    tp_size: int | None = None


class Inventory(Record):
    """A host at one moment."""

    host: str  # as in host.testinfra
    hostname: str | None = None
    os: str | None = None
    cores: int | None = None
    memory_mib: int | None = None
    gpus: tuple[GpuSeen, ...] = ()
    driver: str | None = None
    cuda: str | None = None  # the newest that the driver serves
    topology: TopologyClass = "unknown"
    links: tuple[str, ...] = ()  # the kinds of links between its GPUs, e.g. ("PHB", "SYS")
    pythons: tuple[PythonSeen, ...] = ()
    models: tuple[ModelSeen, ...] = ()
    servers: tuple[ServerSeen, ...] = ()
    nccl: dict[str, str] = {}  # NCCL variables that a login on the host has
    free_ports: tuple[int, ...] = ()
    taken_ports: tuple[int, ...] = ()
    work_dir: str | None = None  # a folder that may be written
    work_dir_free_mib: int | None = None
    simulated: bool = False
    problems: tuple[Unread, ...] = ()  # what could not be had, and why
