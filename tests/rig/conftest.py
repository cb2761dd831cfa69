"""A checkout with rigs of the test's own making."""

from __future__ import annotations

from pathlib import Path

import pytest

from tokgate.errors import RigError
from tokgate.rig.load import load_rig
from tokgate.rig.models import Rig

SMALL = """
name = "small"

[gpus]
count = 0

[server]
python = "/opt/python"
model_path = "{root}/models/target"

[server.args]
tp_size = 1

[server.environment]
OMP_NUM_THREADS = "1"

[server.nccl]
NCCL_PROTO = "LL"

[[arms]]
name = "baseline"
kind = "baseline"

[[arms]]
name = "eagle3-2step"
kind = "eagle3"
draft_model_path = "/models/draft"
num_steps = 2
topk = 1
num_draft_tokens = 3

[prompt_sets.ids]
kind = "token-ids"
length = 8
first_id = 3
last_id = 100

[[workloads]]
name = "single"
prompts = "ids"
output_tokens = 16
repeats = 2

[lossless]
mode = "exact"
prompts = "ids"

[[budgets]]
metric = "decode_tok_s"
at_least = 10.0
"""


class Checkout:
    """`write` puts a changed copy of the small rig into rigs/; `refusal` loads it and returns the error."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / "rigs").mkdir()

    def write(self, *changes: tuple[str, str], add: str = "", name: str = "small") -> Path:
        text = SMALL
        for old, new in changes:
            assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
            text = text.replace(old, new)
        file = self.root / "rigs" / f"{name}.toml"
        file.write_text(text + add, encoding="utf-8")
        return file

    def load(self, *overrides: str) -> Rig:
        return load_rig("small", root=self.root, overrides=overrides)

    def refusal(self, *overrides: str) -> RigError:
        with pytest.raises(RigError) as caught:
            self.load(*overrides)
        return caught.value


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)
