"""Measuring the phases does not slow what it measures: the probe switched on and off inside one server run."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = [pytest.mark.eagle3, pytest.mark.verify]


def test_probe_cost(carrying_evidence: LaunchEvidence, promises: Promises) -> None:
    promises.probe_cost(carrying_evidence)
