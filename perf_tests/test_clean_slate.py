"""The machine was clean: no process of an earlier run, the port free, every GPU as the rig says, at zero."""

from __future__ import annotations

import pytest

from tokgate.fixtures.hosts import Gate
from tokgate.fixtures.promises import Promises

pytestmark = [pytest.mark.eagle3, pytest.mark.baseline]


def test_clean_slate_at_the_start(gate: Gate, promises: Promises) -> None:
    promises.clean_slate(gate.slate_at_start)


def test_clean_slate_at_the_end(gate: Gate, promises: Promises) -> None:
    """Nothing of ours is left: no marked process, no GPU memory."""
    promises.clean_slate(gate.slate_at_end)
