"""Verify takes no larger part of a cycle than its budget allows."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = [pytest.mark.eagle3, pytest.mark.verify]


def test_verify_share(phase_launches: tuple[LaunchEvidence, ...], workload: str, promises: Promises) -> None:
    promises.verify_share(phase_launches, workload)
