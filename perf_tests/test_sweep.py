"""The setting of speculation that the rig is written with is the best of those it sweeps."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.sweep


def test_sweep_setting(sweep_evidence: LaunchEvidence, sweep_workload: str, promises: Promises) -> None:
    """Each setting is a server start of its own, between two of the control arm."""
    promises.sweep_setting(sweep_evidence, sweep_workload)


def test_sweep(sweep_evidences: tuple[LaunchEvidence, ...], sweep_workload: str, promises: Promises) -> None:
    """The best setting is named, with its lead over the next; the rig's own is not surely slower."""
    promises.sweep(sweep_evidences, sweep_workload)
