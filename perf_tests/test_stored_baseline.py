"""Nothing has crept since the stored baseline of the same identity."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = [pytest.mark.eagle3, pytest.mark.baseline]


def test_stored_baseline(arm_launches: tuple[LaunchEvidence, ...], workload: str, promises: Promises) -> None:
    promises.stored_baseline(arm_launches, workload)
