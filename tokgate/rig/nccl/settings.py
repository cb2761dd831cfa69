"""What a rule looks at, and the few lines that make its findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from tokgate.records.nccl import NcclLint

from .numbers import read_number
from .versions import Version


@dataclass(frozen=True)
class Settings:
    """The NCCL variables of one server, as written, and the version of NCCL that will read them."""

    variables: Mapping[str, str]
    version: Version
    nodes: int = 1  # machines that the server's ranks are spread over

    def number(self, name: str) -> int | None:
        """Return the number NCCL works with; None: not set, empty, or beyond 64 bits."""
        text = self.variables.get(name)
        if not text:
            return None
        read = read_number(text)
        return None if read.overflow else read.value

    def found(
        self,
        name: str,
        severity: Literal["error", "warning", "note"],
        *,
        what: str,
        do: str,
        source: str,
    ) -> NcclLint:
        return NcclLint(
            variable=name,
            value=self.variables.get(name),
            severity=severity,
            what=what,
            do=do,
            source=source,
        )


Rule = Callable[[Settings], Iterator[NcclLint]]
