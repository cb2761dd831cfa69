"""`tokgate compare` of two runs on the disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from tests.cli.baseline_checkout import write_run
from tests.verdicts.evidence import controls, eagle3
from tokgate.cli.compare import compare
from tokgate.cli.errors import GateGroup
from tokgate.rig.models import Rig

SEEN = r"\(a loss of [12]\.\d% would have been seen\)"
RATES = (59.8, 59.6, 60.0, 59.7, 59.9, 59.8)


def tokgate(*args: str) -> Result:
    return CliRunner().invoke(GateGroup(commands={"compare": compare}), ["compare", *args])


def a_run(folder: Path, slower: float = 1.0, *, rig: Rig | None = None) -> str:
    return str(write_run(folder, *controls(), eagle3(tuple(v / slower for v in RATES)), rig=rig))


def told(*args: str) -> dict[str, Any]:
    found = tokgate(*args, "--json")
    assert found.exit_code == 0, found.output
    content: dict[str, Any] = json.loads(found.stdout)
    return content
