"""No part of a change to SGLang costs speed; the commit or patch that does is named, with its cost."""

from __future__ import annotations

import pytest

from tokgate.fixtures.promises import Promises
from tokgate.records import LaunchEvidence

pytestmark = pytest.mark.culprit


def test_culprit(culprit_launches: tuple[LaunchEvidence, ...], promises: Promises) -> None:
    """Asked by --culprit beside --base, --head or --patch (docs/patches.md): each look costs server starts."""
    promises.culprit(culprit_launches)
