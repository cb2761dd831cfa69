"""The machine and the server of a rig: which host, which GPUs, which SGLang and how it is started."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat

from tokgate.records.record import Record

from .values import ArgValue


class HostSpec(Record):
    """A machine reached through a testinfra backend."""

    testinfra: str = Field("local://", description="testinfra host spec: local:// or ssh://user@host:port")
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
