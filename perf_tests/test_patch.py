"""A change to SGLang does not make the server slower than its base: both sides in one session, arm by arm."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = [pytest.mark.eagle3, pytest.mark.patch]


def test_patch(changed_launches: tuple[LaunchEvidence, ...], workload: str, promises: Promises) -> None:
    """Asked where --base, --head, --patch or --instrumented name a change (docs/patches.md)."""
    promises.patch(changed_launches, workload)
