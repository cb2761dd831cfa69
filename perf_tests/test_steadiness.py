"""The window was fit to judge by: steady, prefix cache as declared, client far from its ceiling, no drift."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.eagle3


def test_steadiness(evidence: LaunchEvidence, workload: str, promises: Promises) -> None:
    promises.steadiness(evidence, workload)


def test_cache_state(evidence: LaunchEvidence, workload: str, promises: Promises) -> None:
    """The prefix cache was in the state that the workload declares."""
    promises.cache_state(evidence, workload)


def test_client_headroom(evidence: LaunchEvidence, workload: str, promises: Promises) -> None:
    promises.client_headroom(evidence, workload)


def test_drift(control_launches: tuple[LaunchEvidence, ...], workload: str, promises: Promises) -> None:
    """The control arm gives the same number before the other arms, after them, and whenever it was restarted."""
    promises.drift(control_launches, workload)
