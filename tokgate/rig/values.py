"""Kinds of values that a rig file has in several places."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

# What may follow `--flag`: True is the bare flag, False and None leave it out.
ArgValue = bool | int | float | str | tuple[int | float | str, ...]
Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")]
