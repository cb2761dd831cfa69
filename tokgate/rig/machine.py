"""The machine and the server of a rig: which host, which GPUs, which SGLang and how it is started."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from tokgate.records.record import Record

from .sides import PatchText
from .values import ArgValue


class HostOverride(Record):
    """What one host of a pool has otherwise than `[host]` says; what is left out is as there."""

    name: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$",
        description="what reports and folders call it; left out: made of the address",
    )
    ssh_config: str | None = Field(None, description="path of an ssh_config for this host")
    ssh_identity: str | None = Field(None, description="path of a private key for this host")
    python: str | None = Field(None, description="a Python >= 3.9 there")
    path: tuple[str, ...] | None = Field(None, description="folders put in front of its own PATH")
    environment: dict[str, str] = Field(
        default={}, description="variables of every command there, over those of [host]"
    )
    work_dir: str | None = Field(None, description="its folder for logs, leases and heartbeats")


class NodeSpec(HostOverride):
    """A further host of a server over several; what is left out is as `[host]` has it."""

    testinfra: str = Field(description="testinfra host spec of the node: ssh://user@host:port, or local://")


class HostSpec(Record):
    """A machine reached through a testinfra backend, or a pool of such machines."""

    testinfra: str = Field("local://", description="testinfra host spec: local:// or ssh://user@host:port")
    pool: tuple[str, ...] = Field(
        (),
        description="hosts that share the work, each as in `testinfra`, which is then the first of them; with -n K "
        "pytest measures on K of them at once",
    )
    overrides: dict[str, HostOverride] = Field(
        default={}, description="what a host of the pool has otherwise, by its address as written in `pool`"
    )
    nodes: tuple[NodeSpec, ...] = Field(
        (),
        description="the further hosts of one server with server.nodes > 1: node 1, node 2, …; the host itself is node 0",
    )
    each_arm_on: PositiveInt = Field(
        1, description="pool only: how many hosts measure each arm; 2 or more tell how far hosts lie apart"
    )
    ssh_config: str | None = Field(None, description="path of an ssh_config for ssh:// hosts")
    ssh_identity: str | None = Field(None, description="path of a private key for ssh:// hosts")
    python: str = Field(
        "python3", description="a Python >= 3.9 on the host for the supervisor and the readers"
    )
    path: tuple[str, ...] = Field(
        (), description="folders put in front of the host's own PATH, e.g. where nvidia-smi lies"
    )
    environment: dict[str, str] = Field(
        default={},
        description="variables of every command on the host; server.pass_environment may pass them on",
    )
    work_dir: str = Field("/tmp/tokgate", description="folder on the host for logs, leases and heartbeats")  # noqa: S108
    command_timeout_s: PositiveFloat = Field(20.0, description="limit of every single command on the host")
    heartbeat_limit_s: PositiveFloat = Field(
        60.0, description="ssh only: a server outlives the gate no longer than this"
    )

    @model_validator(mode="before")
    @classmethod
    def _first_of_the_pool(cls, data: Any) -> Any:
        """What looks at one host, a doctor say, looks at the first of a pool."""
        if isinstance(data, dict) and data.get("pool") and "testinfra" not in data:
            first = data["pool"][0]
            return {**data, "testinfra": first} if isinstance(first, str) else data
        return data


class GpuSpec(Record):
    """The GPUs that the host must have, and when one of them counts as clean."""

    count: int = Field(ge=0, description="GPUs the host must have; 0 for a CPU rig")
    model: str | None = Field(None, description="text that every GPU's name must contain")
    tolerance_mib: float = Field(0.0, ge=0, description="allocated memory a clean GPU may show")
    reader: Literal["auto", "nvidia-smi"] = Field(
        "auto", description="auto: NVML in this process where the host is this machine, else nvidia-smi"
    )
    wait_s: PositiveFloat = Field(
        120.0, description="how long memory may take to come back, as long as it progresses"
    )


class ServerSpec(Record):
    """One SGLang server as a person would start it; every arm adds its own to it."""

    python: str = Field(description="the interpreter that has SGLang")
    module: str = Field("sglang.launch_server", description="run as `python -m MODULE`")
    model_path: str = Field(description="the target model: --model-path")
    args: dict[str, ArgValue] = Field(
        default={}, description="server arguments in order, `tp_size = 8` for --tp-size 8"
    )
    environment: dict[str, str] = Field(
        default={}, description="written out in full; nothing else reaches the server"
    )
    nccl: dict[Annotated[str, Field(pattern=r"^NCCL_[A-Z0-9_]+$")], str] = Field(
        default={}, description="the NCCL block, in front of everything else"
    )
    pass_environment: tuple[str, ...] = Field(
        ("PATH", "HOME", "USER", "LANG", "CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH"),
        description="variables taken over from the host's own environment when they exist there",
    )
    required_patches: tuple[str, ...] = Field(
        (),
        description="patch files without which this SGLang does not serve the model, in order, from the rig's repository: "
        "every server runs with them, on a tree of the gate's own where they are not in already",
    )
    required: tuple[PatchText, ...] = Field(
        (), description="set by the loader, never written in a file: what required_patches hold"
    )
    nodes: PositiveInt = Field(
        1,
        description="hosts that one server runs over, each with its share of the ranks: the gate writes --nnodes, "
        "--node-rank and --dist-init-addr; the further hosts stand in [[host.nodes]]",
    )
    dist_init_addr: str | None = Field(
        None,
        pattern=r"^(?:[A-Za-z0-9][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$",
        description="nodes > 1: where node 0 is reached by the others, HOST or HOST:PORT; left out, an address that "
        "all of them reach is looked for, and without a port a free one of each start",
    )
    api_key: Literal["random", "none"] = Field("random", description="random: a fresh key per server run")
    bind: Literal["loopback", "as-written"] = Field(
        "loopback", description="loopback replaces --host by 127.0.0.1"
    )
    port: Literal["free", "as-written"] = Field("free", description="free: a new port for every start")
    start_timeout_s: PositiveFloat = Field(600.0, description="from the launch to the first generated tokens")
    silence_timeout_s: PositiveFloat = Field(
        300.0, description="no log growth for this long during the start: silent"
    )
    stop_timeout_s: PositiveFloat = Field(
        60.0, description="TERM to KILL; a server drains its requests meanwhile"
    )
    time_limit_s: PositiveFloat = Field(
        3600.0, description="the supervisor stops the server after this, whatever happens"
    )
