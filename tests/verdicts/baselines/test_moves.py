"""A better number replaces a stored one only where it is known to be better."""

from __future__ import annotations

from tests.verdicts.evidence import (
    controls,
    make_run,
)

from .drafting import Shelf, drawn, faster, of_three_sessions


def test_a_better_number_takes_several_sessions() -> None:
    first = of_three_sessions()
    run, *more = faster(1.1, "b", "c", "d")
    (alone,) = drawn(run, Shelf(first.new))
    (several,) = drawn(run, Shelf(first.new), *more)
    (knowingly,) = drawn(run, Shelf(first.new), despite_doubts=True, replace=True)

    assert alone.kept is not None
    assert alone.kept.startswith("decode_tok_s is +10.0% better: raising it takes 2 sessions (1 here)")
    assert several.kept is None
    assert knowingly.kept is None
    assert any("raising it takes" in doubt for doubt in knowingly.new.provenance.despite)


def test_a_gain_that_noise_would_show_as_well_raises_nothing() -> None:
    """Two sessions, one much better than the other: their mean is better, and nobody knows it."""
    (first,) = drawn(make_run(*controls()))
    (luck,), (usual,) = faster(1.06, "b"), faster(1.0, "c")
    (draft,) = drawn(luck, Shelf(first.new), usual)

    assert draft.kept is not None
    assert "a gain that chance shows less often than 0.1%" in draft.kept


def test_what_is_of_one_session_says_too_little_to_be_raised_by_proof() -> None:
    (first,) = drawn(make_run(*controls()))
    run, *more = faster(1.05, "b", "c", "d")
    (draft,) = drawn(run, Shelf(first.new), *more)

    assert draft.kept is not None
    assert "what is stored is of 1 session, so nobody knows how far sessions differ" in draft.kept


def test_a_little_better_replaces_without_more_ado() -> None:
    (first,) = drawn(make_run(*controls()))
    (draft,) = drawn(faster(1.005, "b")[0], Shelf(first.new))

    assert draft.kept is None


def test_appending_a_session_that_does_not_agree_raises_nothing() -> None:
    first = of_three_sessions()
    (odd,) = drawn(faster(1.1, "b")[0], Shelf(first.new), append=True)
    (fine,) = drawn(faster(1.012, "b")[0], Shelf(first.new), append=True)

    assert odd.kept is not None
    assert fine.kept is None


def test_what_appended_runs_change_is_told_apart_from_what_they_are() -> None:
    """Three sessions stored, one 4 % better comes: the level moves by 1 %, the interval is around the 4 %."""
    first = of_three_sessions()
    (draft,) = drawn(faster(1.04, "b")[0], Shelf(first.new), append=True, despite_doubts=True)
    (move,) = (one for one in draft.moves if one.metric == "decode_tok_s")
    (line,) = (line for line in draft.changes() if line.startswith("decode_tok_s"))

    assert move.interval is not None
    assert move.interval[0] < 0.04 < move.interval[1]
    low, high = (f"{bound:+.1%}" for bound in move.interval)
    assert f"+1.0%; the runs that come +4.0%, interval {low} to {high}" in line

    (whole,) = drawn(faster(1.04, "b")[0], Shelf(first.new), despite_doubts=True, replace=True)
    (line,) = (line for line in whole.changes() if line.startswith("decode_tok_s"))
    assert "+4.0%, interval" in line
    assert "runs that come" not in line
