"""The real SGLang reads the rig's lines before any server is started, and refuses what a start would refuse."""

from __future__ import annotations

from pathlib import Path

from tokgate.records.doctor import State
from tokgate.session.doctor.checks import CHECKS
from tokgate.session.doctor.examine import examine

from .engine import ROOT, engine_rig


def test_a_value_that_sglang_refuses_is_named_with_the_arm_that_has_it(tmp_path: Path) -> None:
    rig = engine_rig("golden")
    wrong = [
        arm if arm.kind != "baseline" else arm.model_copy(update={"args": {"grammar_backend": "nonsense"}})
        for arm in rig.arms
    ]
    rig = rig.model_copy(update={"arms": tuple(wrong)})
    groups = ("sglang", "models")
    asked = [c for c in CHECKS if c.name.partition(".")[0] in groups]
    found = examine(rig, root=ROOT, reports=tmp_path, checks=asked)
    told = {r.check: r for r in found.results}
    # Of a valid name only the parser itself knows the values.
    assert [r.check for r in found.results if r.state is State.FAIL] == ["sglang.parser"]
    assert told["sglang.parser"].found.startswith(
        "its parser refuses the line of baseline: argument --grammar-backend: invalid choice: 'nonsense'"
    )
    assert told["sglang.installed"].found.startswith("SGLang 0.5.23 (wheel) at ")
    assert told["sglang.probe"].state is State.OK
    assert told["models.drafts"].state is State.OK
    assert "8 heads, 8 KV heads: tp_size = 1 divides them" in told["models.heads"].found
    assert told["models.requests"].state is State.OK
