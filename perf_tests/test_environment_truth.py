"""What really ran is what the rig says: every variable in every process, every argument in the server."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.eagle3


def test_environment_truth(evidence: LaunchEvidence, promises: Promises) -> None:
    promises.environment_truth(evidence)
