"""Speculation does not change what is said: speed with another output is no pass."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.eagle3


def test_lossless(
    control_evidence: LaunchEvidence, natural_evidence: LaunchEvidence, promises: Promises
) -> None:
    """Only arms with natural acceptance: pinning overwrites output tokens."""
    promises.lossless(control_evidence, natural_evidence)
