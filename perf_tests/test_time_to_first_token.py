"""The first token comes in time: speculation may not buy tok/s with a slower start."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.eagle3


def test_time_to_first_token(
    arm_launches: tuple[LaunchEvidence, ...], workload: str, promises: Promises
) -> None:
    promises.time_to_first_token(arm_launches, workload)
