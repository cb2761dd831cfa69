"""The drafter is accepted as often as it should be; near 1.0 speculation is on and useless."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.eagle3


def test_acceptance_length(
    eagle3_launches: tuple[LaunchEvidence, ...], workload: str, promises: Promises
) -> None:
    promises.acceptance_length(eagle3_launches, workload)
