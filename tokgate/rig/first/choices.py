"""What was chosen for a first rig, and where each choice came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from tokgate.records.inventory import Inventory, ModelSeen, TopologyClass

T = TypeVar("T")
Source = Literal["asked host", "default", "you", "rig"]


@dataclass(frozen=True)
class Chosen(Generic[T]):
    """A value with its source: "asked host: PATH", "default", "you: --model", "rig h200"."""

    value: T
    source: Source
    why: str = ""

    @property
    def words(self) -> str:
        if self.source == "rig":
            return f"rig {self.why}"
        return f"{self.source}: {self.why}" if self.why else self.source


@dataclass(frozen=True)
class Gpus:
    count: int
    names: tuple[str, ...]  # the different ones
    memory_mib: float | None  # of the smallest
    topology: TopologyClass = "unknown"
    links: tuple[str, ...] = ()


@dataclass(frozen=True)
class Based:
    """The rig that `--from` names, as it is written: no default filled in, no {root} replaced."""

    name: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class Choices:
    name: Chosen[str]
    host: Mapping[str, Chosen[Any]]  # of the [host] table, in its order
    gpus: Chosen[Gpus]
    python: Chosen[str]
    sglang: str | None  # its version, where known
    on_cpu: bool
    model: Chosen[str]
    model_seen: ModelSeen | None
    draft: Chosen[str] | None  # None: a rig without speculation
    draft_seen: ModelSeen | None
    fits: str | None  # why the draft is of the model
    port: Chosen[int]
    prompts: str | None  # path of a text prompt file as the rig is to have it; None: random token ids alone
    simulated: bool = False
    based: Based | None = None
    inventory: Inventory | None = None
    described: bool = field(default=False)  # the GPUs are as you said, nobody saw them

    def __post_init__(self) -> None:
        if self.gpus.value.count < 0:
            raise ValueError("a host has no fewer than no GPUs")
