"""The drafter is accepted as often as it should be; near 1.0 speculation is on and useless."""

from __future__ import annotations

import pytest

from fixtures.promises import Promises, Twins
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.eagle3


def test_acceptance_length(
    arm_evidence: LaunchEvidence, twins: Twins, workload: str, promises: Promises
) -> None:
    promises.acceptance_length(arm_evidence, workload, twins)
