"""Verify runs in CUDA graphs where the control arm decodes in them."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = [pytest.mark.eagle3, pytest.mark.verify]


def test_graph_share(
    control_evidence: LaunchEvidence, phase_evidence: LaunchEvidence, workload: str, promises: Promises
) -> None:
    promises.graph_share(phase_evidence, control_evidence, workload)
