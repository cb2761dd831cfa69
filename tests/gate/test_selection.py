"""A test selected alone launches everything it rests on."""

from __future__ import annotations

from pathlib import Path

from . import stories


def test_a_comparison_alone_launches_the_control_and_its_arm(tmp_path: Path) -> None:
    """Several launches in one test, and pytest-benchmark's clock can be used once: it ended in an error."""
    with stories.open_checkout(tmp_path, {"eagle3": ""}) as checkout:
        run = checkout.gate(selection=("-k", "lossless"))
    assert (run.code, run.outcome) == (0, "pass"), run.said
    assert [v["check"] for v in run.verdict["verdicts"]] == ["lossless"]
    assert run.launched == ["01-baseline", "02-eagle3"]
