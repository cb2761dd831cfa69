"""What every record has in common: frozen, strict, JSON both ways."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

# What any counter or clock in ns holds. Python's own integers know no end, and a folder that was edited by hand
# must not hold one that no float can stand for.
Whole = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Unread(Record):
    """Something a reader met and did not understand; kept so that silence is never a result."""

    line: int | None = None  # 1-based, where lines exist
    text: str  # at most 500 characters of it
    why: str
