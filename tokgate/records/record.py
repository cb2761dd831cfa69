"""What every record has in common: frozen, strict, JSON both ways."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class Unread(Record):
    """Something a reader met and did not understand; kept so that silence is never a result."""

    line: int | None = None  # 1-based, where lines exist
    text: str  # at most 500 characters of it
    why: str
