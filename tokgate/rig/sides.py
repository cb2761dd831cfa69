"""What two sides of SGLang a session compares: told by the gate's options, kept with the rig that was measured."""

from __future__ import annotations

import hashlib
from typing import Any, Literal

from pydantic import Field, model_validator

from tokgate.records.record import Record


class PatchText(Record):
    """A patch file as it was read where the gate runs: the host need not have it."""

    name: str = Field(description="its file's name")
    text: str = Field(description="a unified diff, as git writes it")
    sha256: str = Field("", description="of the text as it was read: of what is stored, secrets may be gone")

    @model_validator(mode="before")
    @classmethod
    def _hashed(cls, data: Any) -> Any:
        if isinstance(data, dict) and isinstance(data.get("text"), str) and "sha256" not in data:
            return {**data, "sha256": hashlib.sha256(data["text"].encode()).hexdigest()}
        return data


class SearchSpec(Record):
    """How the part of a change that costs is looked for. Set by the options --culprit-arm, --culprit-workload and --culprit-inside."""

    arm: str | None = Field(None, description="the arm that is measured; None: the first with EAGLE-3")
    workload: str | None = Field(None, description="the workload it is measured in; None: the rig's first")
    inside: bool = Field(
        False, description="look inside what costs nothing as a whole too: a gain may hide a loss there"
    )


class SidesSpec(Record):
    """Set by the options --sglang-repo, --base, --head, --patch, --instrumented and --culprit, never written in a file."""

    repository: str | None = Field(
        None, description="a git checkout of SGLang on the host; None: the package that server.python imports"
    )
    base: str | None = Field(None, description="what the change is held against: a commit, branch or tag")
    head: str | None = Field(
        None, description="the change: a commit, branch or tag; None: the working tree as it lies"
    )
    patches: tuple[PatchText, ...] = Field((), description="on top of the base, in order, in place of a head")
    applied: bool = Field(
        False,
        description="the patches are in the tree or the package already: the base is it with them taken out",
    )
    question: Literal["patch", "instrumented", "culprit"] = Field(
        "patch",
        description="is the change slower than its base; what do the user's own changes cost; which unit costs what",
    )
    search: SearchSpec | None = Field(None, description="of the question culprit: what is measured for it")
