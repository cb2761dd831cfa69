"""What measures the same phase says the same: a number that two sources dispute is none."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = [pytest.mark.eagle3, pytest.mark.verify]


def test_phases_agree(carrying_evidence: LaunchEvidence, workload: str, promises: Promises) -> None:
    promises.phases_agree(carrying_evidence, workload)
