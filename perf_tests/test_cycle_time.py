"""One speculative cycle (draft + verify + extend + host) keeps its budget. It is not the verify phase."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.eagle3


def test_cycle_time(eagle3_launches: tuple[LaunchEvidence, ...], workload: str, promises: Promises) -> None:
    promises.cycle_time(eagle3_launches, workload)
