"""What a rig holds its numbers to: budgets, twins, floors, stored baselines, lossless output."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, PositiveFloat, PositiveInt, model_validator

from tokgate.records.record import Record

from .values import Name

LARGEST = 1e12  # no measurement is larger, in any unit used here
# What is measured is above 0: a floor of 0 is kept by everything, a ceiling of 0 by nothing.
Limit = Annotated[float, Field(gt=0, le=LARGEST)]


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


class LosslessSpec(Record):
    """Speculation must not change what is said."""

    mode: Literal["exact", "near-tie"] = Field(
        description="exact: equal token ids; near-tie: a first divergence within max_gap is forgiven"
    )
    prompts: Name = Field(description="name of a prompt set")
    count: PositiveInt = Field(4, description="prompts that are compared")
    output_tokens: PositiveInt = Field(64, description="tokens of each answer")
    max_gap: float = Field(
        0.05,
        ge=0,
        description="near-tie: largest gap of the two best log-probabilities at the first divergence",
    )


class Budget(Record):
    """A limit on one metric: fixed, or derived from where speculation breaks even."""

    metric: str = Field(description="one of docs/metrics.md, such as decode_tok_s or verify_ms")
    arm: str = Field("*", description="arm name, or * for all")
    workload: str = Field("*", description="workload name, or * for all")
    at_least: Limit | None = Field(None, description="a floor, in the metric's unit")
    at_most: Limit | None = Field(None, description="a ceiling, in the metric's unit")
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

    # A hundred times as much is never called; far beyond it, sums with it run over.
    relative: float = Field(0.03, ge=0, le=100.0, description="a share: 0.02 for 2 %")
    absolute: float = Field(0.0, ge=0, le=LARGEST, description="in the metric's unit")
    stored: float | None = Field(
        None,
        ge=0,
        le=100.0,
        description="a share, in place of relative against what is stored: sessions, and machines of one kind, differ by "
        "more than server runs of one session",
    )

    @model_validator(mode="after")
    def _stored_is_the_wider(self) -> Self:
        if self.stored is not None and self.stored < self.relative:
            raise ValueError(
                f"stored = {self.stored:g} is below relative = {self.relative:g}: what differs between runs of one "
                "session differs between sessions too; give it at least as much, or leave it out"
            )
        return self


class Twin(Record):
    """What speculation must gain over the control arm of the same session."""

    arm: str = Field("*", description="arm name, or * for all")
    workload: str = Field(
        "*", description="workload name, or * for all; of several entries the most particular counts"
    )
    at_least: float = Field(1.0, gt=0, description="speed-up: 1.0 means not slower")
