"""A rig: which host, which GPUs, which SGLang, which model, which workloads, which budgets."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt, model_validator
from pydantic_core import PydanticCustomError

from tokgate.records.record import Record

# What may follow `--flag`: True is the bare flag, False and None leave it out.
ArgValue = bool | int | float | str | tuple[int | float | str, ...]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]


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
    python: str = Field(description="the interpreter that has SGLang")
    module: str = "sglang.launch_server"
    model_path: str
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
    start_timeout_s: PositiveFloat = 600.0
    silence_timeout_s: PositiveFloat = Field(
        300.0, description="no log growth for this long during the start: silent"
    )
    stop_timeout_s: PositiveFloat = Field(
        60.0, description="TERM to KILL; a server drains its requests meanwhile"
    )
    time_limit_s: PositiveFloat = Field(
        3600.0, description="the supervisor stops the server after this, whatever happens"
    )


class NcclProofSpec(Record):
    """The start that shows what NCCL made of the NCCL block; it comes first and is never timed."""

    skip: str | None = Field(
        None,
        min_length=1,
        description="why no such start is made: what it would show is then told as not proven, with this reason",
    )


class InstrumentsSpec(Record):
    """The launches, one an eagle3 arm, that carry the probe and the device timer; never counted for throughput."""

    skip: str | None = Field(
        None, min_length=1, description="why there are none: no promise on phases is then made"
    )
    repeats: PositiveInt | None = Field(
        None, description="at most this many repeats of each workload; an interval needs 6"
    )
    workloads: tuple[Name, ...] | None = Field(
        None, min_length=1, description="the workloads they take; left out: all of them"
    )
    control: bool = Field(
        False, description="also launch the control arm with instruments: the plain decode step's own time"
    )
    cost_pairs: int | None = Field(
        None,
        ge=0,
        description="pairs of starts with the probe on and off, in the first workload; an interval needs 6; "
        "left out: one for each judged start",
    )
    trace: bool = Field(True, description="profile a few steps with torch's profiler, behind all workloads")


class SamplingSpec(Record):
    """How sure a verdict must be, and what may be spent on it beyond the plan."""

    false_alarm: float = Field(
        0.01,
        gt=0,
        lt=0.5,
        description="chance that a session of an unchanged server calls any loss, all its comparisons together",
    )
    power: float = Field(
        0.95,
        gt=0.5,
        lt=1,
        description="chance that a loss of half as much again as a metric's floors is called, where a pass is given",
    )
    gpu_time_s: float = Field(
        600.0,
        ge=0,
        description="seconds of the machine that further restarts of arms may take, beyond the plan; 0: none are made, "
        "and losses are called without being confirmed by restarts",
    )
    most_restarts: int = Field(6, ge=0, description="further restarts of one arm, at most")
    most_starts: float = Field(
        2.0,
        ge=1,
        description="within one launch, starts of a workload are added until its median is known well enough, up to "
        "this many times its repeats; 1: never",
    )


class BaselinesSpec(Record):
    """How long a stored baseline is good for, how much it may creep, and what it takes to raise it."""

    expire_days: PositiveFloat = Field(
        30.0,
        description="a baseline that nobody has stored or extended for this long names itself before its numbers",
    )
    expired: Literal["warn", "inconclusive"] = Field(
        "warn", description="what an expired baseline does to a pass: a warning, or no pass at all"
    )
    creep: float = Field(
        0.05,
        ge=0,
        lt=1,
        description="accepted losses since the anchor may add up to this much, of a metric whose floors are 2 % or less; "
        "else to 2.5 floors",
    )
    raise_sessions: PositiveInt = Field(
        2, description="a better number replaces a stored one only from so many sessions"
    )
    raise_runs: PositiveInt = Field(3, description="and only from so many server runs in all")
    raise_level: float = Field(
        0.001,
        gt=0,
        lt=0.5,
        description="and only where chance alone shows such a gain no more often than this",
    )


class SweepSpec(Record):
    """Steps x topk x draft tokens of one arm, a launch each; measured only where `-m sweep` asks for it."""

    arm: Name = Field(description="the eagle3 arm whose draft model, arguments and environment are used")
    num_steps: tuple[PositiveInt, ...] = Field(min_length=1, description="the draft steps of one cycle")
    topk: tuple[PositiveInt, ...] = Field((1,), min_length=1, description="the branches of each draft step")
    num_draft_tokens: tuple[PositiveInt, ...] = Field(
        (), description="the tokens that one cycle verifies, of trees only: a chain has num_steps + 1"
    )
    workloads: tuple[Name, ...] = Field((), description="names of workloads; all of them where none is named")
    repeats: PositiveInt | None = Field(
        None, description="barrier starts of each workload and launch, in place of the workload's own"
    )
    most: PositiveInt = Field(
        12, description="more server launches than this are refused, the two of the control arm counted"
    )


class ArmSpec(Record):
    """One server configuration under measurement."""

    name: Name
    kind: Literal["baseline", "eagle3"]
    draft_model_path: str | None = Field(None, description="the path of the draft model")
    num_steps: PositiveInt | None = Field(None, description="the draft steps of one cycle")
    topk: PositiveInt | None = Field(None, description="the branches of each draft step, 1 for a chain")
    num_draft_tokens: PositiveInt | None = Field(None, description="the tokens that one cycle verifies")
    acceptance: Literal["natural"] | Annotated[float, Field(ge=1.0)] = Field(
        "natural", description="natural, or the accept length that SGLANG_SIMULATE_ACC_LEN pins"
    )
    args: dict[str, ArgValue] = Field(
        default={}, description="arguments of this arm only, after the speculative ones"
    )
    environment: dict[str, str] = {}

    @model_validator(mode="after")
    def _kind_and_settings_agree(self) -> ArmSpec:
        settings = {
            "draft_model_path": self.draft_model_path,
            "num_steps": self.num_steps,
            "topk": self.topk,
            "num_draft_tokens": self.num_draft_tokens,
        }
        if self.kind == "eagle3":
            missing = [k for k, v in settings.items() if v is None]
            if missing:
                words = {"names": ", ".join(missing), "keys": missing}
                raise PydanticCustomError("arm_lacks", "an eagle3 arm needs {names}", words)
        else:
            extra = [k for k, v in settings.items() if v is not None]
            extra += ["acceptance"] if self.acceptance != "natural" else []
            if extra:
                words = {"names": ", ".join(extra), "keys": extra}
                raise PydanticCustomError("arm_has_too_much", "a baseline arm takes no {names}", words)
        return self


class TokenIdPrompts(Record):
    """Uniformly random token ids, the same for the same seed: prompts[i] depends on seed and i alone."""

    kind: Literal["token-ids"]
    length: PositiveInt
    first_id: int = Field(ge=0)
    last_id: int = Field(ge=0)
    seed: int = 0


class TextPrompts(Record):
    """Natural text from a JSON-lines file ({"text": …} a line), used in order, round again at the end."""

    kind: Literal["text"]
    file: str = Field(
        description="path of the JSON-lines file; relative paths start at the rig file's folder"
    )
    sha256: str | None = Field(None, description="set by the loader: other prompts are another workload")


PromptSet = Annotated[TokenIdPrompts | TextPrompts, Field(discriminator="kind")]


class WorkloadSpec(Record):
    name: Name
    endpoint: Literal["generate", "completions", "chat"] = "generate"
    prompts: Name = Field(description="name of a prompt set")
    concurrency: PositiveInt = 1
    output_tokens: PositiveInt = Field(description="exactly this many: end-of-sequence is ignored")
    repeats: PositiveInt = Field(description="barrier starts; each makes `concurrency` generations")
    warmup: int = Field(1, ge=0, description="barrier starts before those, measured but not judged")
    cache: Literal["flush", "unique"] = Field(
        "flush", description="prefix cache: flushed before every start, or prompts that never repeat"
    )
    timeout_s: PositiveFloat = Field(120.0, description="limit of one generation")


class LosslessSpec(Record):
    """Speculation must not change what is said."""

    mode: Literal["exact", "near-tie"]
    prompts: Name
    count: PositiveInt = 4
    output_tokens: PositiveInt = 64
    max_gap: float = Field(
        0.05,
        ge=0,
        description="near-tie: largest gap of the two best log-probabilities at the first divergence",
    )


class Budget(Record):
    """A limit on one metric: fixed, or derived from where speculation breaks even."""

    metric: str
    arm: str = Field("*", description="arm name, or * for all")
    workload: str = Field("*", description="workload name, or * for all")
    at_least: float | None = None
    at_most: float | None = None
    break_even_margin: float | None = Field(
        None,
        description="instead of a number: the limit with which speculation still wins by this much over the control "
        "arm of the same session, 0.05 for 5 %; of verify_ms, verify_p95_ms, cycle_ms and accept_length",
    )

    @model_validator(mode="after")
    def _has_a_limit(self) -> Budget:
        if self.at_least is None and self.at_most is None and self.break_even_margin is None:
            raise ValueError("a budget needs at_least, at_most or break_even_margin")
        return self

    @property
    def words(self) -> str:
        """Return "at least 1, at most 2", or "break-even / 1.05"."""
        named = (("at least", self.at_least), ("at most", self.at_most))
        told = [f"{word} {limit:g}" for word, limit in named if limit is not None]
        if self.break_even_margin is not None:
            told.append(break_even_words(self.metric, self.break_even_margin))
        return ", ".join(told)


def break_even_words(metric: str, margin: float) -> str:
    """Return "break-even / 1.05", as long as a cycle that wins by 5 % may be; of an accept length "break-even x 1.05"."""
    sign = "x" if metric == "accept_length" else "/"
    return f"break-even {sign} {1 + margin:g}" if margin else "break-even"


class Floor(Record):
    """The smallest change worth calling; both must be exceeded."""

    relative: float = Field(0.03, ge=0)
    absolute: float = Field(0.0, ge=0, description="in the metric's unit")


class Twin(Record):
    """What speculation must gain over the control arm of the same session."""

    arm: str = "*"
    workload: str = "*"
    at_least: float = Field(1.0, gt=0, description="speed-up: 1.0 means not slower")


class Rig(Record):
    schema_number: Literal[1] = 1
    checkout: str | None = Field(
        None, description="set by the loader, never written in a file: what {root} became"
    )
    name: Name
    description: str = ""
    simulated: bool = Field(False, description="a simulated machine: never compared with a real one")
    host: HostSpec = HostSpec()
    gpus: GpuSpec
    server: ServerSpec
    nccl_proof: NcclProofSpec = NcclProofSpec()
    instruments: InstrumentsSpec = InstrumentsSpec()
    sampling: SamplingSpec = SamplingSpec()
    baselines: BaselinesSpec = BaselinesSpec()
    sweep: SweepSpec | None = None
    arms: tuple[ArmSpec, ...] = Field(min_length=1)
    prompt_sets: dict[Name, PromptSet] = Field(min_length=1)
    workloads: tuple[WorkloadSpec, ...] = Field(min_length=1)
    lossless: LosslessSpec | None = None
    budgets: tuple[Budget, ...] = ()
    twins: tuple[Twin, ...] = (Twin(),)
    floors: dict[str, Floor] = Field(default={}, description="per metric; the metric table has defaults")

    @property
    def control(self) -> ArmSpec:
        """The one baseline arm."""
        return next(a for a in self.arms if a.kind == "baseline")

    def arm(self, name: str) -> ArmSpec:
        return next(a for a in self.arms if a.name == name)

    def workload(self, name: str) -> WorkloadSpec:
        return next(w for w in self.workloads if w.name == name)
