"""Decode tok/s of every arm and workload is established and keeps the rig's budgets."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.eagle3


def test_decode_throughput(
    arm_launches: tuple[LaunchEvidence, ...], workload: str, promises: Promises
) -> None:
    promises.decode_throughput(arm_launches, workload)
