"""One speculative cycle (draft + verify + extend + host) keeps its budget. It is not the verify phase."""

from __future__ import annotations

import pytest

from fixtures.promises import Promises, Twins
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.eagle3


def test_cycle_time(arm_evidence: LaunchEvidence, twins: Twins, workload: str, promises: Promises) -> None:
    promises.cycle_time(arm_evidence, workload, twins)
