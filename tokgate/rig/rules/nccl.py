"""NCCL settings with which no server would come up: found here, no GPU is asked."""

from __future__ import annotations

from collections.abc import Iterator

from tokgate.rig.models import Rig
from tokgate.rig.nccl.of_rig import lint_rig
from tokgate.rig.problems import Problem
from tokgate.rig.spelling import KeyPath, spell


def broken_nccl(rig: Rig) -> Iterator[Problem]:
    """Yield the errors only; what NCCL merely ignores or changes refuses nothing, and is told elsewhere."""
    for finding in lint_rig(rig):
        if finding.severity == "error":
            yield Problem(
                _where(rig, finding.variable),
                spell(finding.value),
                f"another value: {finding.what}; {finding.do}",
            )


def _where(rig: Rig, name: str) -> KeyPath:
    for i, arm in enumerate(rig.arms):
        if name in arm.environment:
            return ("arms", i, "environment", name)
    return ("server", "nccl" if name in rig.server.nccl else "environment", name)
