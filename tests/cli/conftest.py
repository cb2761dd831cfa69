from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.baseline_checkout import Checkout
from tests.sshd import sshd

__all__ = ["checkout", "sshd"]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@pytest.fixture(autouse=True)
def _a_wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said is the matter of these tests; how it is folded that of test_folding.py."""
    monkeypatch.setenv("COLUMNS", "1000")
