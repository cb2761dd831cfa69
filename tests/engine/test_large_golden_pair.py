"""The golden pair as it is written for GPU hosts, small: layers in files of their own, grouped heads, a wider vocabulary."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.golden import GoldenPair, load_pair, predict

from .acceptance import exact_part
from .conftest import SINGLE, TOKENS
from .engine import BUILT, DRAFT_STEPS, NATURAL, ROOT, ask, engine_rig, serving

pytestmark = [pytest.mark.engine, pytest.mark.slow]

# Speculation listens to three distinct layers: 7 are the fewest.
SMALL = ("--hidden", "384", "--layers", "8", "--heads", "8", "--kv-heads", "4", "--intermediate", "1024")


def test_output_and_acceptance_are_exactly_as_predicted(tmp_path: Path) -> None:
    """One server with speculation tells both: what is said is the target's, whatever was drafted."""
    recipe = ROOT / "rigs" / "sglang-gpu" / "large_golden_pair.py"
    folder = tmp_path / "golden"
    python = str(BUILT / "venv" / "bin" / "python")
    subprocess.run([python, str(recipe), str(folder), *SMALL, "--vocab", "4000"], check=True)
    pair = load_pair(folder)
    assert isinstance(pair, GoldenPair)
    with serving(engine_rig(str(folder)), NATURAL, tmp_path / "server") as server:
        answers = ask(server, SINGLE, tokens=TOKENS)
    for prompt, answer in zip(SINGLE, answers, strict=True):
        assert exact_part(answer) == predict(pair, prompt, tokens=TOKENS, draft_steps=DRAFT_STEPS)
