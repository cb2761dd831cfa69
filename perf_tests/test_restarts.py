"""Server runs of one arm belong together: no two modes among them, and each restart was as fit to judge by as the first."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.eagle3


def test_restarts(arm_launches: tuple[LaunchEvidence, ...], workload: str, promises: Promises) -> None:
    """Asked first of all that is asked of an arm, once the session has sampled all that it will."""
    promises.restarts(arm_launches, workload)
