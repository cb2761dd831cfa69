"""What a rig asks its servers: prompts, and how many of them at once."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, PositiveFloat, PositiveInt

from tokgate.records.record import Record

from .values import Name


class TokenIdPrompts(Record):
    """Uniformly random token ids, the same for the same seed: prompts[i] depends on seed and i alone."""

    kind: Literal["token-ids"]
    length: PositiveInt = Field(description="tokens of each prompt")
    first_id: int = Field(ge=0, description="the smallest id that is drawn")
    last_id: int = Field(ge=0, description="the largest; both must be in the model's vocabulary")
    seed: int = Field(0, description="another seed is another workload")


class TextPrompts(Record):
    """Natural text from a JSON-lines file ({"text": …} a line), used in order, round again at the end."""

    kind: Literal["text"]
    file: str = Field(
        description="path of the JSON-lines file; relative paths start at the rig file's folder"
    )
    sha256: str | None = Field(None, description="set by the loader: other prompts are another workload")


PromptSet = Annotated[TokenIdPrompts | TextPrompts, Field(discriminator="kind")]


class WorkloadSpec(Record):
    """What one server is asked, and how many times."""

    name: Name = Field(description="budgets, twins and reports call it so")
    endpoint: Literal["generate", "completions", "chat"] = Field(
        "generate",
        description="generate tells most of all; the OpenAI endpoints tell no decode time of their own",
    )
    prompts: Name = Field(description="name of a prompt set")
    concurrency: PositiveInt = Field(1, description="requests sent at the same moment")
    output_tokens: PositiveInt = Field(description="exactly this many: end-of-sequence is ignored")
    repeats: PositiveInt = Field(description="barrier starts; each makes `concurrency` generations")
    warmup: int = Field(1, ge=0, description="barrier starts before those, measured but not judged")
    cache: Literal["flush", "unique"] = Field(
        "flush", description="prefix cache: flushed before every start, or prompts that never repeat"
    )
    timeout_s: PositiveFloat = Field(120.0, description="limit of one generation")
