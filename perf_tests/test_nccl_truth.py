"""What the rig asks of NCCL is what NCCL does: started with, accepted, effective, used, in every rank."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = [pytest.mark.eagle3, pytest.mark.nccl]


def test_nccl_truth(nccl_evidence: LaunchEvidence, promises: Promises) -> None:
    """Shown by a start of its own, the first of the session, which is never timed."""
    promises.nccl_truth(nccl_evidence)
