"""What tests of single checks share: rigs as they ship, and what a check said."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tokgate.records.doctor import Remark, State
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig

ROOT = Path(__file__).parents[3]
GIB = 1024


def rig(name: str = "kimi-k2.5-8gpu", *overrides: str) -> Rig:
    return load_rig(name, root=ROOT, overrides=overrides)


def only(remarks: Iterable[Remark]) -> Remark:
    (one,) = remarks
    return one


def said(remarks: Iterable[Remark]) -> tuple[State, str]:
    found = only(remarks)
    assert found.do or found.state not in (State.WARN, State.FAIL)
    return found.state, found.found
