"""A verify call keeps its budget, at p50 and at p95, by a source of its own: never by the cycle."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = [pytest.mark.eagle3, pytest.mark.verify]


def test_verify_latency(
    phase_launches: tuple[LaunchEvidence, ...], workload: str, promises: Promises
) -> None:
    promises.verify_latency(phase_launches, workload)
