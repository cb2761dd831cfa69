"""What one look at the GPUs brought, before anyone judges it."""

from __future__ import annotations

from dataclasses import dataclass

from tokgate.records import Finding, GpuHolder, GpuSeen


@dataclass(frozen=True)
class GpuReadout:
    """`problems` are reasons why the look is incomplete; holders are not yet named."""

    gpus: tuple[GpuSeen, ...] = ()
    holders: tuple[GpuHolder, ...] = ()
    drivers: tuple[str, ...] = ()
    problems: tuple[Finding, ...] = ()
