"""What the NCCL block buys: the control arm with it and without it, in one session."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.nccl


def test_nccl_side(side_evidence: LaunchEvidence, workload: str, promises: Promises) -> None:
    """Both sides are established; the one without is proven to be without."""
    promises.nccl_side(side_evidence, workload)


def test_nccl_tuning(
    nccl_pair: tuple[LaunchEvidence, LaunchEvidence], workload: str, promises: Promises
) -> None:
    """A server that is faster without its block has lost something to it."""
    promises.nccl_tuning(nccl_pair, workload)
