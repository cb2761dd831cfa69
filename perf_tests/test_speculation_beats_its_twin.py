"""Speculation is faster than the plain server of the same session, by as much as the rig demands."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.eagle3


def test_speculation_beats_its_twin(
    eagle3_launches: tuple[LaunchEvidence, ...], workload: str, promises: Promises
) -> None:
    promises.speculation_beats_its_twin(eagle3_launches, workload)
