"""How long a reader waits for the next token, and between two pieces of text: in the middle and in the tail."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.eagle3


def test_token_latency(arm_launches: tuple[LaunchEvidence, ...], workload: str, promises: Promises) -> None:
    promises.token_latency(arm_launches, workload)
