"""A rig: one machine, one server in several arms, what they are asked, and what their numbers are held to."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveInt, model_validator
from pydantic_core import PydanticCustomError

from tokgate.records.record import Record

from .launches import InstrumentsSpec, NcclProofSpec, SamplingSpec, SweepSpec
from .limits import BaselinesSpec, Budget, Floor, LosslessSpec, Twin
from .machine import GpuSpec, HostSpec, ServerSpec
from .sides import SidesSpec
from .values import ArgValue, Name
from .workload import PromptSet, WorkloadSpec


class ArmSpec(Record):
    """One server configuration under measurement."""

    name: Name = Field(description="reports, budgets and baselines call it so")
    kind: Literal["baseline", "eagle3"] = Field(
        description="baseline, the plain server: exactly one; or eagle3"
    )
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
    environment: dict[str, str] = Field(
        default={}, description="variables of this arm only; they replace the server's"
    )

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


class Rig(Record):
    """The file itself: what stands above its first table, and which tables it has."""

    schema_number: Literal[1] = Field(1, description="the format of the file")
    checkout: str | None = Field(
        None, description="set by the loader, never written in a file: what {root} became"
    )
    name: Name = Field(description="must be the file's name")
    description: str = Field("", description="one line for reports and `tokgate rig list`")
    simulated: bool = Field(False, description="a simulated machine: never compared with a real one")
    host: HostSpec = HostSpec()
    gpus: GpuSpec
    server: ServerSpec
    nccl_proof: NcclProofSpec = NcclProofSpec()
    instruments: InstrumentsSpec = InstrumentsSpec()
    sampling: SamplingSpec = SamplingSpec()
    baselines: BaselinesSpec = BaselinesSpec()
    sweep: SweepSpec | None = None
    sides: SidesSpec | None = Field(
        None,
        description="set by the gate's options, never written in a file: which change is measured against what",
    )
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

    def twin(self, arm: str, workload: str) -> Twin | None:
        """Return the most particular twin limit, of equals the later one; None where the rig sets none."""
        fitting = [t for t in self.twins if t.arm in ("*", arm) and t.workload in ("*", workload)]
        ranked = sorted(fitting, key=lambda t: (t.arm != "*", t.workload != "*"))
        return ranked[-1] if ranked else None

    def workload(self, name: str) -> WorkloadSpec:
        return next(w for w in self.workloads if w.name == name)
