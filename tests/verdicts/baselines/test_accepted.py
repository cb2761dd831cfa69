"""What an update remembers: the anchor, every level accepted since, and the budget that accepted losses have."""

from __future__ import annotations

import pytest

from tests.verdicts.evidence import (
    controls,
    make_run,
)
from tokgate.errors import BaselineError

from .drafting import Shelf, drawn, faster


def test_the_anchor_stays_and_accepted_levels_are_kept_with_their_reason() -> None:
    (first,) = drawn(make_run(*controls()))
    slower, slowest = faster(0.98, "b")[0], faster(0.96, "c")[0]
    (second,) = drawn(slower, Shelf(first.new), why="safer kernels", when="2026-12-01T00:00:00+00:00")
    (third,) = drawn(slowest, Shelf(second.new), why="again", when="2026-12-02T00:00:00+00:00")

    assert third.new.anchor == first.new.anchor
    anchor = third.new.anchor["decode_tok_s"]
    assert anchor.value == pytest.approx(44.6, rel=1e-3)
    assert (anchor.runs, anchor.sessions, anchor.starts, anchor.why) == (2, 1, 12, "new driver")
    assert [(a.when[:10], a.why) for a in third.new.accepted] == [
        ("2026-12-01", "safer kernels"),
        ("2026-12-02", "again"),
    ]
    assert any("crept 4.0% of 5.0%" in line for line in third.changes())


def test_small_losses_add_up_to_the_creep_budget() -> None:
    (draft,) = drawn(make_run(*controls()))
    shelf = Shelf(draft.new)
    for step, by in enumerate((0.98, 0.96)):
        (draft,) = drawn(faster(by, f"b{step}")[0], shelf)
        shelf = Shelf(draft.new)

    with pytest.raises(BaselineError, match=r"creep budget: decode_tok_s of single on baseline crept 6\.0%"):
        drawn(faster(0.94, "c")[0], shelf)
    with pytest.raises(BaselineError, match="creep budget"):
        drawn(faster(0.94, "c")[0], shelf, despite_doubts=True)
    (known,) = drawn(faster(0.94, "c")[0], shelf, despite_creep="a safer sampler")
    assert known.new.accepted[-1].despite_creep == "a safer sampler"
    # What was accepted beyond the budget is no reason to refuse what loses nothing more.
    (same,) = drawn(faster(0.94, "d")[0], Shelf(known.new))
    assert same.new.accepted[-1].despite_creep is None


def test_a_baseline_of_an_earlier_tokgate_is_its_own_anchor() -> None:
    (first,) = drawn(make_run(*controls()))
    old = first.new.model_copy(update={"anchor": {}})
    (second,) = drawn(faster(0.98, "b")[0], Shelf(old))

    assert second.new.anchor["decode_tok_s"].value == pytest.approx(44.6, rel=1e-3)
    assert second.new.anchor["decode_tok_s"].session_ids == ("20261129T120000-small",)
    with pytest.raises(BaselineError, match="creep budget"):
        drawn(faster(0.93, "b")[0], Shelf(old))
